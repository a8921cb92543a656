;; The values at the declared paths of records, from their bytes, with the hashes of texts. keys-json.wat and
;; keys-binary.wat go on here: scripts/build-kernels.js makes one module of the three.
;;
;; It answers for usual records only. Of all others it says that it does not know, and JavaScript scans them.
;;
;; The memory, of which JavaScript fills in the tree, the window and the bounds (see scanner.js):
;;
;;      0  nodes of the tree of paths, 32 bytes each: 1 if a path ends there, and 2 if it needs times; where its keys
;;         are; how many; the node of all elements; a bit for each size that a key has, modulo 32. The first one stands
;;         for none, the second one is the root
;;         keys, 48 bytes each: the size; the node of its value; the last object that has it; where its bytes after the
;;         first 16 are; 16 bytes; 0xff for each byte that it is shorter than that
;;  16384  findings, 32 bytes each: the node; the kind; start and end in the window; low, high and short hash; the record
;;  65536  the window, 64 KiB, and 4 KiB of zeros
;; 135168  the bounds of up to 4,096 records in the window: start and end, 4 bytes each
;; 167936  what keys-json.wat goes back to, 16 bytes for each object and array around a value
  (memory (export "memory") 3)
  ;; of the hashes
  (global $first (export "first") (mut i32) (i32.const 0))
  (global $second (export "second") (mut i32) (i32.const 0))
  (global $mask (export "mask") (mut i32) (i32.const 0))
  ;; where the next finding goes
  (global $found (export "foundEnd") (mut i32) (i32.const 16384))
  ;; whether it does not know the record at which it has ended
  (global $isUnknown (export "isUnknown") (mut i32) (i32.const 0))
  (global $record (mut i32) (i32.const 0))
  (global $object (mut i32) (i32.const 0))

  ;; Scans records from one on. Gives the first one that it has not scanned: because it does not know it, or because
  ;; there was no room for all that it has found
  (func (export "scan") (param $isBinary i32) (param $record i32) (param $count i32) (result i32)
    (local $bounds i32) (local $before i32) (local $isKnown i32)
    (global.set $found (i32.const 16384))
    (global.set $isUnknown (i32.const 0))
    (local.set $bounds (i32.add (i32.const 135168) (i32.shl (local.get $record) (i32.const 3))))
    (block $end
      (loop $next
        (br_if $end (i32.eq (local.get $record) (local.get $count)))
        (global.set $record (local.get $record))
        (local.set $before (global.get $found))
        (if (local.get $isBinary)
          (then (local.set $isKnown
            (call $walk (i32.const 32) (i32.load (local.get $bounds)) (i32.load offset=4 (local.get $bounds)))))
          (else (local.set $isKnown
            (call $json (i32.load (local.get $bounds)) (i32.load offset=4 (local.get $bounds))))))
        (if (i32.eqz (local.get $isKnown))
          (then
            ;; With none before it there is not more room when it is scanned again.
            (global.set $isUnknown (i32.or
              (i32.ne (global.get $found) (i32.const 65536))
              (i32.eq (local.get $before) (i32.const 16384))))
            (global.set $found (local.get $before))
            (br $end)))
        (local.set $bounds (i32.add (local.get $bounds) (i32.const 8)))
        (local.set $record (i32.add (local.get $record) (i32.const 1)))
        (br $next)))
    (local.get $record))

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

  ;; Gives 0 if there are too many
  (func $note (param $node i32) (param $kind i32) (param $start i32) (param $end i32) (result i32)
    (local $found i32)
    (local.set $found (global.get $found))
    (if (i32.eq (local.get $found) (i32.const 65536)) (then (return (i32.const 0))))
    (i32.store (local.get $found) (local.get $node))
    (i32.store offset=4 (local.get $found) (local.get $kind))
    (i32.store offset=8 (local.get $found) (local.get $start))
    (i32.store offset=12 (local.get $found) (local.get $end))
    (i32.store offset=28 (local.get $found) (global.get $record))
    (global.set $found (i32.add (local.get $found) (i32.const 32)))
    (i32.const 1))

  ;; With the hash that hash.js makes. A text with escapes or characters that are no ASCII, or that may be a time, is
  ;; only noted. Gives 0 if there are too many
  (func $text (param $node i32) (param $start i32) (param $end i32) (param $isEscaped i32) (result i32)
    (local $found i32) (local $a i32) (local $b i32) (local $word i32) (local $bits i32)
    (local.set $found (global.get $found))
    (if (i32.or (local.get $isEscaped) (i32.and (i32.load (local.get $node)) (i32.const 2)))
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
        (local.set $bits (i32.or (local.get $bits) (local.get $word)))
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
        (local.set $bits (i32.or (local.get $bits) (local.get $word)))
        (local.set $a (i32.mul (i32.xor (local.get $a) (local.get $word)) (i32.const 0x9e3779b1)))
        (local.set $a (i32.xor (local.get $a) (i32.shr_u (local.get $a) (i32.const 15))))
        (local.set $b (i32.mul (i32.add (local.get $b) (local.get $word)) (i32.const 0x85ebca77)))
        (local.set $b (i32.xor (local.get $b) (i32.shr_u (local.get $b) (i32.const 13))))
        (local.set $start (i32.add (local.get $start) (i32.const 1)))
        (br $bytes)))
    (if (i32.and (local.get $bits) (i32.const 0x80808080))
      (then
        (i32.store offset=4 (local.get $found) (i32.const 2))
        (return (i32.const 1))))
    (local.set $a (i32.mul (i32.xor (local.get $a) (i32.shr_u (local.get $a) (i32.const 16))) (i32.const 0x85ebca77)))
    (local.set $b (i32.mul (i32.xor (local.get $b) (i32.shr_u (local.get $b) (i32.const 16))) (i32.const 0xc2b2ae3d)))
    (local.set $a (i32.add (local.get $a) (i32.xor (local.get $b) (i32.shr_u (local.get $b) (i32.const 13)))))
    (local.set $b (i32.xor (local.get $b)
      (i32.mul (i32.xor (local.get $a) (i32.shr_u (local.get $a) (i32.const 15))) (i32.const 0x9e3779b1))))
    (i32.store offset=16 (local.get $found) (local.get $a))
    (i32.store offset=20 (local.get $found) (local.get $b))
    (local.set $word (i32.xor
      (i32.mul (i32.xor (local.get $a) (i32.shr_u (local.get $a) (i32.const 13))) (i32.const 0xc2b2ae3d))
      (i32.mul (i32.xor (local.get $b) (i32.shr_u (local.get $b) (i32.const 16))) (i32.const 0x85ebca77))))
    (local.set $word
      (i32.mul (i32.xor (local.get $word) (i32.shr_u (local.get $word) (i32.const 15))) (i32.const 0x9e3779b1)))
    (i32.store offset=24 (local.get $found)
      (i32.and (i32.xor (local.get $word) (i32.shr_u (local.get $word) (i32.const 16))) (global.get $mask)))
    (i32.const 1))
