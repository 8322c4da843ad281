# Writes every kind of file into the folder `full`, which has no space.
cat /dev/zero > full/fill 2> /dev/null
try() {
  echo "$@"
  "$@"
  echo "code $?"
}
try soap-run good.so --output=y=full/y.npy
try soap-run good.so --trace=full/t.json
try soap-run good.so --profile-ops=full/p.json
try soap-compile good.onnx -o full/m.so
try soap-compile good.onnx --emit=nn -o full/m.mlir
try soap-compile good.onnx --devices=2 --emit=strategy --export-strategy=full/s.json -o s.mlir
try soap-compile good.onnx --devices=2 --strategy=data-parallel --export-movements=full/m.json -o m.so
try soap-compile --devices=2 --calibration=none --emit=topology -o full/t.json
try soap-compile good.onnx --devices=2 --emit=report --strategy=single -o full/r.txt
try soap-compile good.onnx --devices=2 --emit=report --strategy=single --json -o full/r.json
search="--devices=2 --proposals=200 --calibration=none"
try soap-compile good.onnx $search --emit=strategy --search-log=full/l.csv -o s.mlir
try soap-compile good.onnx $search --emit=strategy --search-state=full/s.json -o kept.mlir
test -s kept.mlir && echo "the level is there"
try soap-translate --import-onnx good.onnx -o full/t.mlir
training="--input=x=random:0 --data=label=label.npy"
try soap-run train.so $training --checkpoint=full
try soap-run train.so $training --export-onnx=full/e.onnx --onnx-model=good.onnx
# The machine is measured, and the file of its rates cannot be kept.
echo SOAP_CALIBRATION_DIR=full
SOAP_CALIBRATION_DIR=full soap-compile good.onnx --devices=2 --strategy=data-parallel -o c.so
echo "code $?"
echo "left: $(ls -A full | tr '\n' ' ')"
