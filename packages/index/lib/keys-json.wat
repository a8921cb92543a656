;; Records of JSON: sixteen bytes of a text with each comparison. It checks the grammar. It does not know what is no
;; JSON, is nested deep, has a declared key twice, or a key with an escape beside a declared one; see json-keys.js.
;;
;; A position is never compared with the end of the record, but at last: whatever goes beyond the end does not end there.
;; Zeros follow the window, and end everything.

  ;; Gives whether it knows the record. It is one loop, so that nothing has to be put aside for calls: each round takes
  ;; a text, another value, or what begins an object or an array, and then what ends those
  (func $json (param $at i32) (param $limit i32) (result i32)
    (local $quote v128) (local $backslash v128) (local $control v128) (local $bytes v128)
    (local $byte i32) (local $start i32) (local $stops i32) (local $isEscaped i32) (local $kind i32)
    ;; of the value that comes next; and of the object or array around it, which `around` has in the memory
    (local $child i32) (local $node i32) (local $object i32) (local $around i32)
    ;; whether a key comes next
    (local $isKey i32)
    (local.set $quote (i8x16.splat (i32.const 0x22)))
    (local.set $backslash (i8x16.splat (i32.const 0x5c)))
    (local.set $control (i8x16.splat (i32.const 0x1f)))
    (local.set $child (i32.const 32))
    (local.set $around (i32.const 167936))
    (local.set $at (call $space (local.get $at)))
    (loop $next
      (local.set $byte (i32.load8_u (local.get $at)))
      (block $whole
        (if (i32.eq (local.get $byte) (i32.const 0x22))
          (then
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (local.set $start (local.get $at))
            (local.set $isEscaped (i32.const 0))
            (loop $ahead
              (local.set $bytes (v128.load (local.get $at)))
              (local.set $stops (i8x16.bitmask (v128.or
                (v128.or
                  (i8x16.eq (local.get $bytes) (local.get $quote))
                  (i8x16.eq (local.get $bytes) (local.get $backslash)))
                (i8x16.eq (local.get $bytes) (i8x16.min_u (local.get $bytes) (local.get $control))))))
              (if (i32.eqz (local.get $stops))
                (then
                  (local.set $at (i32.add (local.get $at) (i32.const 16)))
                  (br $ahead)))
              (local.set $at (i32.add (local.get $at) (i32.ctz (local.get $stops))))
              (local.set $byte (i32.load8_u (local.get $at)))
              (if (i32.ne (local.get $byte) (i32.const 0x22))
                (then
                  (if (i32.ne (local.get $byte) (i32.const 0x5c)) (then (return (i32.const 0))))
                  (local.set $isEscaped (i32.const 1))
                  (local.set $at (call $escape (i32.add (local.get $at) (i32.const 1))))
                  (br_if $ahead (local.get $at))
                  (return (i32.const 0)))))
            (if (local.get $isKey)
              (then
                (local.set $child (i32.const 0))
                (if (local.get $node)
                  (then
                    (if (local.get $isEscaped) (then (return (i32.const 0))))
                    (local.set $stops (i32.sub (local.get $at) (local.get $start)))
                    (if (i32.and (i32.shr_u (i32.load offset=16 (local.get $node)) (local.get $stops)) (i32.const 1))
                      (then
                        (local.set $child
                          (call $key (local.get $node) (local.get $start) (local.get $stops) (local.get $object)))
                        (if (i32.lt_s (local.get $child) (i32.const 0)) (then (return (i32.const 0))))))))
                (local.set $at (i32.add (local.get $at) (i32.const 1)))
                (if (i32.le_u (i32.load8_u (local.get $at)) (i32.const 0x20))
                  (then (local.set $at (call $space (local.get $at)))))
                (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x3a)) (then (return (i32.const 0))))
                (local.set $at (i32.add (local.get $at) (i32.const 1)))
                (if (i32.le_u (i32.load8_u (local.get $at)) (i32.const 0x20))
                  (then (local.set $at (call $space (local.get $at)))))
                (local.set $isKey (i32.const 0))
                (br $next)))
            (if (i32.load (local.get $child))
              (then (if (i32.eqz
                (call $text (local.get $child) (local.get $start) (local.get $at) (local.get $isEscaped)))
                (then (return (i32.const 0))))))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (br $whole)))
        (if (local.get $isKey) (then (return (i32.const 0))))
        (local.set $start (local.get $at))
        ;; 0x7b and 0x5b
        (if (i32.eq (i32.and (local.get $byte) (i32.const 0xdf)) (i32.const 0x5b))
          (then
            (if (i32.eq (local.get $around) (i32.const 168960)) (then (return (i32.const 0))))
            (i32.store (local.get $around) (local.get $node))
            (i32.store offset=4 (local.get $around) (local.get $object))
            (i32.store offset=8 (local.get $around) (local.get $start))
            (i32.store offset=12 (local.get $around) (local.get $child))
            (local.set $around (i32.add (local.get $around) (i32.const 16)))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (if (i32.le_u (i32.load8_u (local.get $at)) (i32.const 0x20))
              (then (local.set $at (call $space (local.get $at)))))
            (if (i32.eq (local.get $byte) (i32.const 0x7b))
              (then
                ;; A node without keys is as none.
                (local.set $node (select
                  (local.get $child) (i32.const 0) (i32.load offset=8 (local.get $child))))
                (global.set $object (i32.or (i32.add (global.get $object) (i32.const 2)) (i32.const 1)))
                (local.set $object (global.get $object))
                (local.set $isKey (i32.const 1))
                (br_if $next (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x7d))))
              (else
                (local.set $child (i32.load offset=12 (local.get $child)))
                (local.set $node (local.get $child))
                (local.set $object (i32.const 0))
                (br_if $next (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x5d)))))
            (br $whole)))
        (if (i32.or
              (i32.eq (local.get $byte) (i32.const 0x2d))
              (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x30)) (i32.const 10)))
          (then
            (local.set $at (call $number (local.get $at)))
            (local.set $kind (i32.const 3)))
          (else
            (local.set $stops (i32.load (local.get $at)))
            (local.set $at (i32.add (local.get $at) (i32.const 4)))
            (if (i32.eq (local.get $stops) (i32.const 0x65757274))
              (then (local.set $kind (i32.const 4)))
              (else (if (i32.eq (local.get $stops) (i32.const 0x6c6c756e))
                (then (local.set $kind (i32.const 6)))
                (else
                  (local.set $kind (i32.const 5))
                  (local.set $at (select (i32.add (local.get $at) (i32.const 1)) (i32.const 0) (i32.and
                    (i32.eq (local.get $byte) (i32.const 0x66))
                    (i32.eq (i32.load offset=1 (local.get $start)) (i32.const 0x65736c61)))))))))))
        (if (i32.eqz (local.get $at)) (then (return (i32.const 0))))
        (if (i32.load (local.get $child))
          (then (if (i32.eqz
            (call $note (local.get $child) (local.get $kind) (local.get $start) (local.get $at)))
            (then (return (i32.const 0)))))))
      ;; A value was taken, or nothing is in an object or array.
      (block $done
        (loop $after
          (br_if $done (i32.eq (local.get $around) (i32.const 167936)))
          (if (i32.le_u (i32.load8_u (local.get $at)) (i32.const 0x20))
            (then (local.set $at (call $space (local.get $at)))))
          (local.set $byte (i32.load8_u (local.get $at)))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (if (i32.eq (local.get $byte) (i32.const 0x2c))
            (then
              (if (i32.le_u (i32.load8_u (local.get $at)) (i32.const 0x20))
                (then (local.set $at (call $space (local.get $at)))))
              (local.set $isKey (i32.and (local.get $object) (i32.const 1)))
              (local.set $child (local.get $node))
              (br $next)))
          (if (i32.ne (local.get $byte) (select (i32.const 0x7d) (i32.const 0x5d) (local.get $object)))
            (then (return (i32.const 0))))
          (local.set $around (i32.sub (local.get $around) (i32.const 16)))
          (local.set $child (i32.load offset=12 (local.get $around)))
          (if (i32.and
                (i32.shr_u (i32.load (local.get $child)) (i32.const 1))
                (i32.ne (local.get $object) (i32.const 0)))
            (then (if (i32.eqz (call $note
                (local.get $child) (i32.const 7) (i32.load offset=8 (local.get $around)) (local.get $at)))
              (then (return (i32.const 0))))))
          (local.set $node (i32.load (local.get $around)))
          (local.set $object (i32.load offset=4 (local.get $around)))
          (local.set $isKey (i32.const 0))
          (br $after))))
    (if (i32.lt_u (local.get $at) (local.get $limit)) (then (local.set $at (call $space (local.get $at)))))
    (i32.eq (local.get $at) (local.get $limit)))

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
          (br_if $next (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x30)) (i32.const 10)))
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
    (local $bytes v128) (local $count i32)
    (local.set $bytes (i8x16.sub (v128.load (local.get $at)) (i8x16.splat (i32.const 0x30))))
    (local.set $count (i32.ctz (i32.xor (i32.const -1) (i8x16.bitmask
      (i8x16.eq (local.get $bytes) (i8x16.min_u (local.get $bytes) (i8x16.splat (i32.const 9))))))))
    (if (i32.eqz (local.get $count)) (then (return (i32.const 0))))
    (local.set $at (i32.add (local.get $at) (local.get $count)))
    (if (i32.eq (local.get $count) (i32.const 16))
      (then
        (loop $ahead
          (if (i32.lt_u (i32.sub (i32.load8_u (local.get $at)) (i32.const 0x30)) (i32.const 10))
            (then
              (local.set $at (i32.add (local.get $at) (i32.const 1)))
              (br $ahead))))))
    (local.get $at))
