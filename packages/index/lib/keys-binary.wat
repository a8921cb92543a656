;; Records in the binary format. It does not know those whose tags lead out of what holds them; see binary-keys.js.

  ;; where the payload of the last tag begins
  (global $payload (mut i32) (i32.const 0))

  ;; start: of a tag. Gives 0 if it does not know the record
  (func $walk (param $node i32) (param $start i32) (param $limit i32) (result i32)
    (local $tag i32) (local $at i32) (local $end i32)
    (local.set $tag (call $tag (local.get $start) (local.get $limit)))
    (if (i32.lt_s (local.get $tag) (i32.const 0)) (then (return (i32.const 0))))
    (local.set $at (global.get $payload))
    (local.set $end (i32.add (local.get $at) (i32.shr_u (local.get $tag) (i32.const 3))))
    (if (i32.gt_u (local.get $end) (local.get $limit)) (then (return (i32.const 0))))
    (if (i32.load (local.get $node))
      (then (if (i32.eqz (call $scalar (local.get $node) (local.get $tag) (local.get $at) (local.get $end)))
        (then (return (i32.const 0))))))
    (local.set $tag (i32.and (local.get $tag) (i32.const 7)))
    (if (i32.and (i32.eq (local.get $tag) (i32.const 5)) (i32.ne (i32.load offset=8 (local.get $node)) (i32.const 0)))
      (then (return (call $fields (local.get $node) (local.get $at) (local.get $end)))))
    (if (i32.and (i32.eq (local.get $tag) (i32.const 4)) (i32.ne (i32.load offset=12 (local.get $node)) (i32.const 0)))
      (then (return (call $items (i32.load offset=12 (local.get $node)) (local.get $at) (local.get $end)))))
    (i32.const 1))

  ;; It ends with the last key that is wanted, as a filter does.
  (func $fields (param $node i32) (param $at i32) (param $end i32) (result i32)
    (local $object i32) (local $left i32) (local $sizes i32)
    (local $tag i32) (local $key i32) (local $size i32) (local $value i32) (local $child i32)
    (local.set $left (i32.load offset=8 (local.get $node)))
    (local.set $sizes (i32.load offset=16 (local.get $node)))
    (global.set $object (i32.add (global.get $object) (i32.const 1)))
    (local.set $object (global.get $object))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $tag (i32.load8_u (local.get $at)))
        (local.set $key (i32.add (local.get $at) (i32.const 1)))
        (if (i32.ge_u (local.get $tag) (i32.const 0x80))
          (then
            (local.set $tag (call $longTag (local.get $at) (local.get $end)))
            (local.set $key (global.get $payload))))
        ;; also if it is below 0
        (if (i32.and (local.get $tag) (i32.const 7)) (then (return (i32.const 0))))
        (local.set $size (i32.shr_u (local.get $tag) (i32.const 3)))
        (local.set $value (i32.add (local.get $key) (local.get $size)))
        (if (i32.ge_u (local.get $value) (local.get $end)) (then (return (i32.const 0))))
        (if (i32.and (i32.shr_u (local.get $sizes) (local.get $size)) (i32.const 1))
          (then
            (local.set $child
              (call $key (local.get $node) (local.get $key) (local.get $size) (local.get $object)))
            (if (local.get $child)
              (then
                (if (i32.lt_s (local.get $child) (i32.const 0)) (then (return (i32.const 0))))
                (if (i32.eqz (call $walk (local.get $child) (local.get $value) (local.get $end)))
                  (then (return (i32.const 0))))
                (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                (br_if $done (i32.eqz (local.get $left)))))))
        (local.set $at (call $skip (local.get $value) (local.get $end)))
        (br_if $next (local.get $at))
        (return (i32.const 0))))
    (i32.const 1))

  (func $items (param $node i32) (param $at i32) (param $end i32) (result i32)
    (local $next i32)
    (block $done
      (loop $ahead
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $next (call $skip (local.get $at) (local.get $end)))
        (if (i32.eqz (local.get $next)) (then (return (i32.const 0))))
        (if (i32.eqz (call $walk (local.get $node) (local.get $at) (local.get $next))) (then (return (i32.const 0))))
        (local.set $at (local.get $next))
        (br $ahead)))
    (i32.const 1))

  ;; Gives the place after a value; 0 if that is after the limit
  (func $skip (param $start i32) (param $limit i32) (result i32)
    (local $tag i32) (local $end i32)
    (local.set $tag (call $tag (local.get $start) (local.get $limit)))
    (if (i32.lt_s (local.get $tag) (i32.const 0)) (then (return (i32.const 0))))
    (local.set $end (i32.add (global.get $payload) (i32.shr_u (local.get $tag) (i32.const 3))))
    (if (i32.gt_u (local.get $end) (local.get $limit)) (then (return (i32.const 0))))
    (local.get $end))

  ;; Gives a tag; -1 if there is none
  (func $tag (param $start i32) (param $limit i32) (result i32)
    (local $byte i32)
    (if (i32.ge_u (local.get $start) (local.get $limit)) (then (return (i32.const -1))))
    (local.set $byte (i32.load8_u (local.get $start)))
    (if (i32.ge_u (local.get $byte) (i32.const 0x80))
      (then (return (call $longTag (local.get $start) (local.get $limit)))))
    (global.set $payload (i32.add (local.get $start) (i32.const 1)))
    (local.get $byte))

  ;; As `tag`. It has up to five bytes, the last one of at most 7, and no more than it needs
  (func $longTag (param $at i32) (param $limit i32) (result i32)
    (local $tag i32) (local $byte i32) (local $shift i32)
    (loop $next
      (if (i32.ge_u (local.get $at) (local.get $limit)) (then (return (i32.const -1))))
      (local.set $byte (i32.load8_u (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (if (i32.and (i32.eq (local.get $shift) (i32.const 28)) (i32.gt_u (local.get $byte) (i32.const 7)))
        (then (return (i32.const -1))))
      (local.set $tag (i32.or (local.get $tag)
        (i32.shl (i32.and (local.get $byte) (i32.const 0x7f)) (local.get $shift))))
      (local.set $shift (i32.add (local.get $shift) (i32.const 7)))
      (br_if $next (i32.ge_u (local.get $byte) (i32.const 0x80))))
    (if (i32.eqz (local.get $byte)) (then (return (i32.const -1))))
    (global.set $payload (local.get $at))
    (local.get $tag))

  ;; A scalar of a wrong size has no key. Gives 0 if it does not know the record
  (func $scalar (param $node i32) (param $tag i32) (param $at i32) (param $end i32) (result i32)
    (local $type i32) (local $byte i32)
    (local.set $type (i32.and (local.get $tag) (i32.const 7)))
    (if (i32.eqz (local.get $type))
      (then (return (call $text (local.get $node) (local.get $at) (local.get $end) (i32.const 0)))))
    (if (i32.eq (local.get $tag) (i32.const 34))
      (then (return (call $note (local.get $node) (i32.const 8) (local.get $at) (local.get $end)))))
    (if (i32.eq (local.get $tag) (i32.const 67))
      (then (return (call $note (local.get $node) (i32.const 9) (local.get $at) (local.get $end)))))
    (if (i32.eq (local.get $tag) (i32.const 6))
      (then (return (call $note (local.get $node) (i32.const 6) (local.get $at) (local.get $end)))))
    (if (i32.eq (local.get $tag) (i32.const 14))
      (then
        (local.set $byte (i32.load8_u (local.get $at)))
        (if (i32.gt_u (local.get $byte) (i32.const 1)) (then (return (i32.const 1))))
        (return (call $note (local.get $node) (i32.sub (i32.const 5) (local.get $byte)) (local.get $at) (local.get $end)))))
    ;; An object, an extension or a buffer may be a time.
    (i32.or
      (i32.eqz (i32.and (i32.load (local.get $node)) (i32.const 2)))
      (i32.or
        (i32.or (i32.eq (local.get $type) (i32.const 2)) (i32.eq (local.get $type) (i32.const 3)))
        (i32.or (i32.eq (local.get $type) (i32.const 4)) (i32.eq (local.get $type) (i32.const 6))))))
