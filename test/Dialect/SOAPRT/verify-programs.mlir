// RUN: soap-opt %s -split-input-file '-soaprt-verify-programs=report' -verify-diagnostics -o /dev/null

// Tests that reuse of memory and waits between streams are proved, and counted.
// expected-remark @below {{programs: 3 rows, 2 waits, 4 dependences (3 between streams), 1 reuses of memory, all in order}}
module {
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  %b = soaprt.buffer at 128 : !soaprt.buffer<32xf32, activations>
  %c = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    %t0 = soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
    %t1 = soaprt.exchange "a" tag 0 send (%a : !soaprt.buffer<32xf32, activations>) to [1] receive (%b : !soaprt.buffer<32xf32, activations>) from [1] waits(%t0) stream communication
    %t2 = soaprt.launch "c" @k0(%b : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>) waits(%t1) stream compute
  }
}
}

// -----

// Tests that a row waits for what it reads.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  %b = soaprt.buffer at 128 : !soaprt.buffer<32xf32, activations>
  %c = soaprt.buffer at 256 : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    %t0 = soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
    // expected-note @below {{the row: writes what it reads}}
    %t1 = soaprt.exchange "a" tag 0 send (%a : !soaprt.buffer<32xf32, activations>) to [1] receive (%b : !soaprt.buffer<32xf32, activations>) from [1] waits(%t0) stream communication
    // expected-error @below {{expected to start after the row that writes what it reads, got no wait that says so}}
    soaprt.launch "c" @k0(%b : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>) stream compute
  }
}

// -----

// Tests that memory is not written while another stream still reads it.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  %b = soaprt.buffer at 128 : !soaprt.buffer<32xf32, activations>
  %c = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    %t0 = soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
    // expected-note @below {{the row: still reads these bytes}}
    %t1 = soaprt.exchange "a" tag 0 send (%a : !soaprt.buffer<32xf32, activations>) to [1] receive () from [] waits(%t0) stream communication
    soaprt.launch "b" @k0(%a : !soaprt.buffer<32xf32, activations>) to (%b : !soaprt.buffer<32xf32, activations>) stream compute
    // expected-error @below {{expected to start after the row that still reads these bytes, got no wait that says so}}
    soaprt.launch "c" @k0(%b : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>) stream compute
  }
}

// -----

// Tests that a buffer keeps its bytes until its last reader.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 384 parameters 0 {
  %a = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  // expected-note @below {{the other buffer}}
  %b = soaprt.buffer at 64 : !soaprt.buffer<32xf32, activations>
  %c = soaprt.buffer at 256 : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
    soaprt.launch "b" @k0(%a : !soaprt.buffer<32xf32, activations>) to (%b : !soaprt.buffer<32xf32, activations>) stream compute
    // expected-error @below {{expected to read bytes of its buffer, got: bytes that belong to another one by now; keep the two apart}}
    soaprt.launch "c" @k0(%a : !soaprt.buffer<32xf32, activations>) to (%c : !soaprt.buffer<32xf32, activations>) stream compute
  }
}

// -----

// Tests that nothing is read that no row has written.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 384 parameters 0 {
  // expected-note @below {{of this buffer}}
  %a = soaprt.buffer at 0 : !soaprt.buffer<32xf32, activations>
  %b = soaprt.buffer at 128 : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    // expected-error @below {{expected to read what an earlier row has written, got bytes that none has}}
    soaprt.launch "b" @k0(%a : !soaprt.buffer<32xf32, activations>) to (%b : !soaprt.buffer<32xf32, activations>) stream compute
  }
}

// -----

// Tests that places are needed.
soaprt.kernel @k0 "nn.relu" (%x: tensor<32xf32>) {
  %0 = nn.relu %x {nn.name = "relu"} : tensor<32xf32>
  soaprt.yield %0 : tensor<32xf32>
}
soaprt.device @d0 id 0 activations 384 parameters 0 {
  // expected-error @below {{expected an offset; run soaprt-plan-memory}}
  %a = soaprt.buffer : !soaprt.buffer<32xf32, activations>
  soaprt.init {}
  soaprt.main {
    soaprt.copy "a" () to (%a : !soaprt.buffer<32xf32, activations>) [] fill 1.0 : f32 stream compute
  }
}
