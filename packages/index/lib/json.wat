;; The values at the declared paths of a record in JSON, from its bytes, with the hashes of texts: sixteen bytes of a
;; text with each comparison.
;;
;; It answers for usual records only. Of all others it says that it does not know, and json-keys.js scans them: what is
;; no JSON, is nested deep, has a declared key twice, or a key with an escape beside a declared one.
;;
;; A position is never compared with the end of the record, but at last: whatever goes beyond the end does not end there.
;; Zeros follow the window, and end everything.
;;
;; The memory, of which JavaScript fills in all but the findings (see json-kernel.js):
;;
;;      0  nodes of the tree of paths, 16 bytes each: 1 if a path ends there, and 2 if it needs times; where its keys
;;         are; how many; the node of all elements. The first one stands for none, the second one is the root
;;         keys, 48 bytes each: the size; the node of its value; the last object that has it; where its bytes after the
;;         first 16 are; 16 bytes; 0xff for each byte that it is shorter than that
;;  16384  findings, 32 bytes each: the node; the kind; start and end in the window; low, high and short hash
;;  65536  the window, 64 KiB, and zeros
(module
  (memory (export "memory") 3)
  ;; of the hashes
  (global $first (export "first") (mut i32) (i32.const 0))
  (global $second (export "second") (mut i32) (i32.const 0))
  (global $mask (export "mask") (mut i32) (i32.const 0))
  ;; of the last text: whether it has escapes, and bytes that are no ASCII
  (global $escaped (mut i32) (i32.const 0))
  (global $foreign (mut i32) (i32.const 0))
  (global $found (mut i32) (i32.const 0))
  (global $depth (mut i32) (i32.const 0))
  (global $object (mut i32) (i32.const 0))

  ;; at, end: of a record in the memory. Gives how many findings there are; -1 if it does not know
  (func (export "scan") (param $at i32) (param $end i32) (result i32)
    (global.set $found (i32.const 16384))
    (global.set $depth (i32.const 0))
    (local.set $at (call $value (call $space (local.get $at)) (i32.const 16)))
    (if (i32.eqz (local.get $at)) (then (return (i32.const -1))))
    (if (i32.lt_u (local.get $at) (local.get $end)) (then (local.set $at (call $space (local.get $at)))))
    (if (i32.ne (local.get $at) (local.get $end)) (then (return (i32.const -1))))
    (i32.shr_u (i32.sub (global.get $found) (i32.const 16384)) (i32.const 5)))

  ;; All functions that step over something give the position after it; 0 if it is not what it should be.

  (func $space (param $at i32) (result i32)
    (local $byte i32)
    (loop $ahead
      (local.set $byte (i32.load8_u (local.get $at)))
      (if (i32.or
            (i32.or (i32.eq (local.get $byte) (i32.const 0x20)) (i32.eq (local.get $byte) (i32.const 0x0a)))
            (i32.or (i32.eq (local.get $byte) (i32.const 0x0d)) (i32.eq (local.get $byte) (i32.const 0x09))))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $ahead))))
    (local.get $at))

  (func $value (param $at i32) (param $node i32) (result i32)
    (local $byte i32) (local $end i32) (local $kind i32)
    (local.set $byte (i32.load8_u (local.get $at)))
    (if (i32.eq (local.get $byte) (i32.const 0x22))
      (then
        (local.set $end (call $string (i32.add (local.get $at) (i32.const 1))))
        (if (i32.eqz (local.get $end)) (then (return (i32.const 0))))
        (if (i32.load (local.get $node))
          (then (if (i32.eqz
            (call $text (local.get $node) (i32.add (local.get $at) (i32.const 1)) (i32.sub (local.get $end) (i32.const 1))))
            (then (return (i32.const 0))))))
        (return (local.get $end))))
    (if (i32.eq (local.get $byte) (i32.const 0x7b)) (then (return (call $members (local.get $at) (local.get $node)))))
    (if (i32.eq (local.get $byte) (i32.const 0x5b)) (then (return (call $elements (local.get $at) (local.get $node)))))
    (if (i32.or (i32.eq (local.get $byte) (i32.const 0x2d)) (call $isDigit (local.get $byte)))
      (then
        (local.set $end (call $number (local.get $at)))
        (local.set $kind (i32.const 3)))
      (else (if (i32.eq (i32.load (local.get $at)) (i32.const 0x65757274))
        (then
          (local.set $end (i32.add (local.get $at) (i32.const 4)))
          (local.set $kind (i32.const 4)))
        (else (if (i32.eq (i32.load (local.get $at)) (i32.const 0x6c6c756e))
          (then
            (local.set $end (i32.add (local.get $at) (i32.const 4)))
            (local.set $kind (i32.const 6)))
          (else (if (i32.and
              (i32.eq (local.get $byte) (i32.const 0x66))
              (i32.eq (i32.load offset=1 (local.get $at)) (i32.const 0x65736c61)))
            (then
              (local.set $end (i32.add (local.get $at) (i32.const 5)))
              (local.set $kind (i32.const 5))))))))))
    (if (i32.and (i32.ne (local.get $end) (i32.const 0)) (i32.ne (i32.load (local.get $node)) (i32.const 0)))
      (then (return (call $note (local.get $node) (local.get $kind) (local.get $at) (local.get $end)))))
    (local.get $end))

  (func $members (param $at i32) (param $node i32) (result i32)
    (local $start i32) (local $byte i32) (local $end i32) (local $child i32) (local $object i32) (local $keys i32)
    (local.set $start (local.get $at))
    (local.set $keys (i32.load offset=8 (local.get $node)))
    (global.set $depth (i32.add (global.get $depth) (i32.const 1)))
    (if (i32.gt_u (global.get $depth) (i32.const 64)) (then (return (i32.const 0))))
    (global.set $object (i32.add (global.get $object) (i32.const 1)))
    (local.set $object (global.get $object))
    (local.set $at (call $space (i32.add (local.get $at) (i32.const 1))))
    (local.set $byte (i32.load8_u (local.get $at)))
    (if (i32.ne (local.get $byte) (i32.const 0x7d))
      (then
        (loop $next
          (if (i32.ne (local.get $byte) (i32.const 0x22)) (then (return (i32.const 0))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (local.set $end (call $string (local.get $at)))
          (if (i32.eqz (local.get $end)) (then (return (i32.const 0))))
          (if (local.get $keys)
            (then
              (if (global.get $escaped) (then (return (i32.const 0))))
              (local.set $child (call $key (local.get $node) (local.get $at)
                (i32.sub (i32.sub (local.get $end) (i32.const 1)) (local.get $at)) (local.get $object)))
              (if (i32.lt_s (local.get $child) (i32.const 0)) (then (return (i32.const 0))))))
          (local.set $at (local.get $end))
          (if (i32.le_u (i32.load8_u (local.get $at)) (i32.const 0x20))
            (then (local.set $at (call $space (local.get $at)))))
          (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x3a)) (then (return (i32.const 0))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (if (i32.le_u (i32.load8_u (local.get $at)) (i32.const 0x20))
            (then (local.set $at (call $space (local.get $at)))))
          (local.set $at (call $value (local.get $at) (local.get $child)))
          (if (i32.eqz (local.get $at)) (then (return (i32.const 0))))
          (if (i32.le_u (i32.load8_u (local.get $at)) (i32.const 0x20))
            (then (local.set $at (call $space (local.get $at)))))
          (local.set $byte (i32.load8_u (local.get $at)))
          (if (i32.eq (local.get $byte) (i32.const 0x2c))
            (then
              (local.set $at (i32.add (local.get $at) (i32.const 1)))
              (local.set $byte (i32.load8_u (local.get $at)))
              (if (i32.le_u (local.get $byte) (i32.const 0x20))
                (then
                  (local.set $at (call $space (local.get $at)))
                  (local.set $byte (i32.load8_u (local.get $at)))))
              (br $next))))
        (if (i32.ne (local.get $byte) (i32.const 0x7d)) (then (return (i32.const 0))))))
    (local.set $at (i32.add (local.get $at) (i32.const 1)))
    (global.set $depth (i32.sub (global.get $depth) (i32.const 1)))
    (if (i32.and (i32.load (local.get $node)) (i32.const 2))
      (then (return (call $note (local.get $node) (i32.const 7) (local.get $start) (local.get $at)))))
    (local.get $at))

  ;; Gives the node of the value; 0 if no path leads there, -1 if the object has had the key
  (func $key (param $node i32) (param $start i32) (param $size i32) (param $object i32) (result i32)
    (local $entry i32) (local $last i32) (local $bytes v128)
    (local.set $entry (i32.load offset=4 (local.get $node)))
    (local.set $last (i32.add (local.get $entry) (i32.mul (i32.load offset=8 (local.get $node)) (i32.const 48))))
    (local.set $bytes (v128.load (local.get $start)))
    (loop $next
      (if (i32.eq (i32.load (local.get $entry)) (local.get $size))
        (then
          (if (i8x16.all_true (v128.or
                (i8x16.eq (local.get $bytes) (v128.load offset=16 (local.get $entry)))
                (v128.load offset=32 (local.get $entry))))
            (then
              (if (call $isSame (i32.load offset=12 (local.get $entry))
                    (i32.add (local.get $start) (i32.const 16)) (i32.sub (local.get $size) (i32.const 16)))
                (then
                  (if (i32.eq (i32.load offset=8 (local.get $entry)) (local.get $object))
                    (then (return (i32.const -1))))
                  (i32.store offset=8 (local.get $entry) (local.get $object))
                  (return (i32.load offset=4 (local.get $entry)))))))))
      (local.set $entry (i32.add (local.get $entry) (i32.const 48)))
      (br_if $next (i32.lt_u (local.get $entry) (local.get $last))))
    (i32.const 0))

  ;; size: may be below 0
  (func $isSame (param $a i32) (param $b i32) (param $size i32) (result i32)
    (loop $next
      (if (i32.le_s (local.get $size) (i32.const 0)) (then (return (i32.const 1))))
      (local.set $size (i32.sub (local.get $size) (i32.const 1)))
      (br_if $next (i32.eq
        (i32.load8_u (i32.add (local.get $a) (local.get $size)))
        (i32.load8_u (i32.add (local.get $b) (local.get $size))))))
    (i32.const 0))

  (func $elements (param $at i32) (param $node i32) (result i32)
    (local $byte i32)
    (local.set $node (i32.load offset=12 (local.get $node)))
    (global.set $depth (i32.add (global.get $depth) (i32.const 1)))
    (if (i32.gt_u (global.get $depth) (i32.const 64)) (then (return (i32.const 0))))
    (local.set $at (call $space (i32.add (local.get $at) (i32.const 1))))
    (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x5d))
      (then
        (loop $next
          (local.set $at (call $value (local.get $at) (local.get $node)))
          (if (i32.eqz (local.get $at)) (then (return (i32.const 0))))
          (if (i32.le_u (i32.load8_u (local.get $at)) (i32.const 0x20))
            (then (local.set $at (call $space (local.get $at)))))
          (local.set $byte (i32.load8_u (local.get $at)))
          (if (i32.eq (local.get $byte) (i32.const 0x2c))
            (then
              (local.set $at (call $space (i32.add (local.get $at) (i32.const 1))))
              (br $next))))
        (if (i32.ne (local.get $byte) (i32.const 0x5d)) (then (return (i32.const 0))))))
    (global.set $depth (i32.sub (global.get $depth) (i32.const 1)))
    (i32.add (local.get $at) (i32.const 1)))

  ;; at: after the quote
  (func $string (param $at i32) (result i32)
    (local $bytes v128) (local $stops i32) (local $byte i32)
    (global.set $escaped (i32.const 0))
    (global.set $foreign (i32.const 0))
    (loop $ahead
      (local.set $bytes (v128.load (local.get $at)))
      (local.set $stops (i8x16.bitmask (v128.or
        (v128.or
          (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 0x22)))
          (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 0x5c))))
        (i8x16.eq (local.get $bytes) (i8x16.min_u (local.get $bytes) (i8x16.splat (i32.const 0x1f)))))))
      (if (i32.eqz (local.get $stops))
        (then
          (if (i8x16.bitmask (local.get $bytes)) (then (global.set $foreign (i32.const 1))))
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          (br $ahead)))
      ;; of the bytes before the first stop
      (if (i32.and (i8x16.bitmask (local.get $bytes))
            (i32.and (i32.sub (local.get $stops) (i32.const 1)) (i32.xor (local.get $stops) (i32.const -1))))
        (then (global.set $foreign (i32.const 1))))
      (local.set $at (i32.add (local.get $at) (i32.ctz (local.get $stops))))
      (local.set $byte (i32.load8_u (local.get $at)))
      (if (i32.eq (local.get $byte) (i32.const 0x5c))
        (then
          (global.set $escaped (i32.const 1))
          (local.set $at (call $escape (i32.add (local.get $at) (i32.const 1))))
          (br_if $ahead (local.get $at)))
        (else (if (i32.eq (local.get $byte) (i32.const 0x22))
          (then (return (i32.add (local.get $at) (i32.const 1))))))))
    (i32.const 0))

  ;; at: after the backslash
  (func $escape (param $at i32) (result i32)
    (local $byte i32) (local $end i32)
    (local.set $byte (i32.load8_u (local.get $at)))
    (if (i32.eq (local.get $byte) (i32.const 0x75))
      (then
        (local.set $end (i32.add (local.get $at) (i32.const 5)))
        (loop $next
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (if (i32.eq (local.get $at) (local.get $end)) (then (return (local.get $at))))
          (local.set $byte (i32.load8_u (local.get $at)))
          (br_if $next (call $isDigit (local.get $byte)))
          (br_if $next (i32.lt_u
            (i32.sub (i32.or (local.get $byte) (i32.const 0x20)) (i32.const 0x61)) (i32.const 6))))
        (return (i32.const 0))))
    (local.set $at (i32.add (local.get $at) (i32.const 1)))
    ;; n " \ / b f r t
    (if (i32.eq (local.get $byte) (i32.const 0x6e)) (then (return (local.get $at))))
    (if (i32.eq (local.get $byte) (i32.const 0x22)) (then (return (local.get $at))))
    (if (i32.eq (local.get $byte) (i32.const 0x5c)) (then (return (local.get $at))))
    (if (i32.eq (local.get $byte) (i32.const 0x2f)) (then (return (local.get $at))))
    (if (i32.eq (local.get $byte) (i32.const 0x62)) (then (return (local.get $at))))
    (if (i32.eq (local.get $byte) (i32.const 0x66)) (then (return (local.get $at))))
    (if (i32.eq (local.get $byte) (i32.const 0x72)) (then (return (local.get $at))))
    (if (i32.eq (local.get $byte) (i32.const 0x74)) (then (return (local.get $at))))
    (i32.const 0))

  (func $isDigit (param $byte i32) (result i32)
    (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x30)) (i32.const 10)))

  (func $number (param $at i32) (result i32)
    (local $byte i32)
    (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x2d))
      (then (local.set $at (i32.add (local.get $at) (i32.const 1)))))
    ;; After a zero no digit may follow: then no value ends there.
    (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x30))
      (then (local.set $at (i32.add (local.get $at) (i32.const 1))))
      (else
        (local.set $at (call $digits (local.get $at)))
        (if (i32.eqz (local.get $at)) (then (return (i32.const 0))))))
    (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x2e))
      (then
        (local.set $at (call $digits (i32.add (local.get $at) (i32.const 1))))
        (if (i32.eqz (local.get $at)) (then (return (i32.const 0))))))
    (if (i32.eq (i32.or (i32.load8_u (local.get $at)) (i32.const 0x20)) (i32.const 0x65))
      (then
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $byte (i32.load8_u (local.get $at)))
        (if (i32.or (i32.eq (local.get $byte) (i32.const 0x2b)) (i32.eq (local.get $byte) (i32.const 0x2d)))
          (then (local.set $at (i32.add (local.get $at) (i32.const 1)))))
        (local.set $at (call $digits (local.get $at)))))
    (local.get $at))

  ;; at least one
  (func $digits (param $at i32) (result i32)
    (if (i32.eqz (call $isDigit (i32.load8_u (local.get $at)))) (then (return (i32.const 0))))
    (loop $ahead
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $ahead (i32.lt_u (i32.sub (i32.load8_u (local.get $at)) (i32.const 0x30)) (i32.const 10))))
    (local.get $at))

  ;; Gives the end; 0 if there are too many
  (func $note (param $node i32) (param $kind i32) (param $start i32) (param $end i32) (result i32)
    (local $found i32)
    (local.set $found (global.get $found))
    (if (i32.eq (local.get $found) (i32.const 65536)) (then (return (i32.const 0))))
    (i32.store (local.get $found) (local.get $node))
    (i32.store offset=4 (local.get $found) (local.get $kind))
    (i32.store offset=8 (local.get $found) (local.get $start))
    (i32.store offset=12 (local.get $found) (local.get $end))
    (global.set $found (i32.add (local.get $found) (i32.const 32)))
    (local.get $end))

  ;; With the hash that hash.js makes. A text with escapes or characters that are no ASCII, or that may be a time, is
  ;; only noted. Gives 0 if there are too many
  (func $text (param $node i32) (param $start i32) (param $end i32) (result i32)
    (local $found i32) (local $a i32) (local $b i32) (local $word i32)
    (local.set $found (global.get $found))
    (if (i32.or
          (i32.or (global.get $escaped) (global.get $foreign))
          (i32.and (i32.load (local.get $node)) (i32.const 2)))
      (then (return (call $note (local.get $node) (i32.const 2) (local.get $start) (local.get $end)))))
    (if (i32.eqz (call $note (local.get $node) (i32.const 1) (local.get $start) (local.get $end)))
      (then (return (i32.const 0))))
    (local.set $word (i32.sub (local.get $end) (local.get $start)))
    (local.set $a (i32.xor
      (i32.xor (global.get $first) (i32.mul (local.get $word) (i32.const 0xc2b2ae3d)))
      (i32.const 1)))
    (local.set $b (i32.add (global.get $second) (i32.mul (local.get $word) (i32.const 0x9e3779b1))))
    (local.set $end (i32.sub (local.get $end) (i32.const 4)))
    (block $rest
      (loop $words
        (br_if $rest (i32.gt_u (local.get $start) (local.get $end)))
        (local.set $word (i32.load (local.get $start)))
        (local.set $a (i32.mul (i32.xor (local.get $a) (local.get $word)) (i32.const 0x9e3779b1)))
        (local.set $a (i32.xor (local.get $a) (i32.shr_u (local.get $a) (i32.const 15))))
        (local.set $b (i32.mul (i32.add (local.get $b) (local.get $word)) (i32.const 0x85ebca77)))
        (local.set $b (i32.xor (local.get $b) (i32.shr_u (local.get $b) (i32.const 13))))
        (local.set $start (i32.add (local.get $start) (i32.const 4)))
        (br $words)))
    (local.set $end (i32.add (local.get $end) (i32.const 4)))
    (block $whole
      (loop $bytes
        (br_if $whole (i32.eq (local.get $start) (local.get $end)))
        (local.set $word (i32.load8_u (local.get $start)))
        (local.set $a (i32.mul (i32.xor (local.get $a) (local.get $word)) (i32.const 0x9e3779b1)))
        (local.set $a (i32.xor (local.get $a) (i32.shr_u (local.get $a) (i32.const 15))))
        (local.set $b (i32.mul (i32.add (local.get $b) (local.get $word)) (i32.const 0x85ebca77)))
        (local.set $b (i32.xor (local.get $b) (i32.shr_u (local.get $b) (i32.const 13))))
        (local.set $start (i32.add (local.get $start) (i32.const 1)))
        (br $bytes)))
    (local.set $a (i32.mul (i32.xor (local.get $a) (i32.shr_u (local.get $a) (i32.const 16))) (i32.const 0x85ebca77)))
    (local.set $b (i32.mul (i32.xor (local.get $b) (i32.shr_u (local.get $b) (i32.const 16))) (i32.const 0xc2b2ae3d)))
    (local.set $a (i32.add (local.get $a) (i32.xor (local.get $b) (i32.shr_u (local.get $b) (i32.const 13)))))
    (local.set $b (i32.xor (local.get $b) (i32.mul (i32.xor (local.get $a) (i32.shr_u (local.get $a) (i32.const 15))) (i32.const 0x9e3779b1))))
    (i32.store offset=16 (local.get $found) (local.get $a))
    (i32.store offset=20 (local.get $found) (local.get $b))
    (local.set $word (i32.xor
      (i32.mul (i32.xor (local.get $a) (i32.shr_u (local.get $a) (i32.const 13))) (i32.const 0xc2b2ae3d))
      (i32.mul (i32.xor (local.get $b) (i32.shr_u (local.get $b) (i32.const 16))) (i32.const 0x85ebca77))))
    (local.set $word (i32.mul (i32.xor (local.get $word) (i32.shr_u (local.get $word) (i32.const 15))) (i32.const 0x9e3779b1)))
    (i32.store offset=24 (local.get $found) (i32.and (i32.xor (local.get $word) (i32.shr_u (local.get $word) (i32.const 16))) (global.get $mask)))
    (i32.const 1))
)
