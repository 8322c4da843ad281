# Prints what a strategy ($1) of a model ($2) moves in a step; ends with `equal`
# if the soap IR and the programs made of it say the same. $3: a scratch folder.
set -e
soap-opt "$2" --soap-parallelize="$1" -o "$3/soap.mlir"
soap-opt "$3/soap.mlir" --soap-print-movements -o /dev/null | grep '^step' | sort > "$3/soap.txt" || true
soap-opt "$3/soap.mlir" --soap-lower --soaprt-print-movements -o /dev/null | grep '^step' | sort > "$3/soaprt.txt" || true
cat "$3/soap.txt"
diff "$3/soap.txt" "$3/soaprt.txt" && echo equal
