//===- NNAttentionOps.td - Attention as one operation ------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNATTENTIONOPS_TD
#define SOAP_DIALECT_NN_IR_NNATTENTIONOPS_TD

include "soap/Dialect/NN/IR/NNBase.td"

def NN_AttentionOp : NN_PureOp<"attention", [], ["getFlops"]> {
  let summary = "Scaled dot-product attention";
  let description = [{
    `softmax(mask(scale * query x keys)) x values` (Vaswani et al., "Attention is
    all you need", 2017, section 3.2.1), which nn-fold-attention makes of matrix
    products and a softmax: query (B..., N, K), keys (B..., S, K), or (B..., K, S)
    with `transposed_keys`, values (B..., S, F), result (B..., N, F). The softmax
    is along S.

    The optional mask broadcasts to the scores (B..., N, S). One of floats is
    added to them. One of booleans says where a score is replaced by `fill`: where
    it holds, or with `mask_keeps` where it does not.

    `bf16` (nn-fold-attention): query, keys, values and what the softmax makes may
    be rounded to bf16 where they are multiplied; all sums are f32.

    Loops: `b0 .. n`; query `(b.., n, [K])`, keys `(b.., [S], [K])`, values
    `(b.., [S], [F])`, mask as it broadcasts with `[S]`, result `(b.., n, [F])`.
    S is not a loop: a part of a softmax is no sum. F is none, as every part would
    compute all scores again.

    Example:

    ```mlir
    %1 = nn.attention %q, %k, %v mask %hidden {nn.name = "layer1.context",
           scale = 1.250000e-01 : f32, fill = -1.000000e+04 : f32}
       : (tensor<8x12x128x64xf32>, tensor<8x12x128x64xf32>,
          tensor<8x12x128x64xf32>, tensor<128x128xi1>) -> tensor<8x12x128x64xf32>
    ```

    Constraints:
    - query, keys, values and result have one element type, and so has a mask of
      floats
    - query, keys and values have the same rank, 2 or more, and the same batch
      dimensions
    - query and keys have the same K, keys and values the same S, of which neither
      is empty
    - the mask has at most the rank of the scores; each of its dimensions is 1 or
      that of the scores, aligned on the right
  }];
  let arguments = (ins NN_FloatTensor:$query, NN_FloatTensor:$keys,
      NN_FloatTensor:$values, Optional<NN_Tensor>:$mask,
      UnitAttr:$transposed_keys, UnitAttr:$mask_keeps,
      DefaultValuedAttr<F32Attr, "1.0f">:$scale,
      DefaultValuedAttr<F32Attr, "0.0f">:$fill, UnitAttr:$bf16);
  let assemblyFormat = [{
    $query `,` $keys `,` $values (`mask` $mask^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // SOAP_DIALECT_NN_IR_NNATTENTIONOPS_TD
