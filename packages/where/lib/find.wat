;; Where a needle stands in a window, or one of two, sixteen positions with each comparison.
;;
;; A position is a candidate when two bytes of the needle, the probes, are where they would be; a candidate is compared
;; with all of the needle at once. So the time does not depend on how alike the needle and the window are, but for the
;; candidates: a needle has up to 16 bytes, and each candidate costs the same.
;;
;; The memory, of which JavaScript fills in all but the places (see byte-search.js):
;;
;;      0  a needle, 16 bytes
;;     16  0xff for each byte that it is shorter than that
;;     32  the other needle, and what it lacks
;;   1024  the window, 16 KiB, and as much behind it as the last comparison reads
;;  32768  the places found, u32 each: offsets in the window, ascending
(module
  (memory (export "memory") 2)

  ;; end: how many positions there are; first, second: offsets of the probes in the needle. Gives how many places.
  (func (export "find") (param $end i32) (param $first i32) (param $second i32) (result i32)
    (local $a v128) (local $b v128) (local $0 v128) (local $1 v128) (local $2 v128) (local $3 v128)
    (local $at i32) (local $atFirst i32) (local $atSecond i32) (local $bits i64) (local $place i32) (local $count i32)
    (local.set $a (i8x16.splat (i32.load8_u (local.get $first))))
    (local.set $b (i8x16.splat (i32.load8_u (local.get $second))))
    (loop $ahead
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (local.get $count))))
      ;; 64 positions, among which there is, as a rule, no candidate
      (local.set $atFirst (i32.add (local.get $at) (local.get $first)))
      (local.set $atSecond (i32.add (local.get $at) (local.get $second)))
      (local.set $0 (v128.and
        (i8x16.eq (v128.load offset=1024 (local.get $atFirst)) (local.get $a))
        (i8x16.eq (v128.load offset=1024 (local.get $atSecond)) (local.get $b))))
      (local.set $1 (v128.and
        (i8x16.eq (v128.load offset=1040 (local.get $atFirst)) (local.get $a))
        (i8x16.eq (v128.load offset=1040 (local.get $atSecond)) (local.get $b))))
      (local.set $2 (v128.and
        (i8x16.eq (v128.load offset=1056 (local.get $atFirst)) (local.get $a))
        (i8x16.eq (v128.load offset=1056 (local.get $atSecond)) (local.get $b))))
      (local.set $3 (v128.and
        (i8x16.eq (v128.load offset=1072 (local.get $atFirst)) (local.get $a))
        (i8x16.eq (v128.load offset=1072 (local.get $atSecond)) (local.get $b))))
      (if (v128.any_true (v128.or (v128.or (local.get $0) (local.get $1)) (v128.or (local.get $2) (local.get $3))))
        (then
          (local.set $bits (call $bits64 (local.get $0) (local.get $1) (local.get $2) (local.get $3)))
          (loop $candidates
            (local.set $place (i32.add (local.get $at) (i32.wrap_i64 (i64.ctz (local.get $bits)))))
            (if (i32.ge_u (local.get $place) (local.get $end)) (then (return (local.get $count))))
            (if (i8x16.all_true (v128.or
                  (i8x16.eq (v128.load offset=1024 (local.get $place)) (v128.load (i32.const 0)))
                  (v128.load (i32.const 16))))
              (then
                (i32.store offset=32768 (i32.shl (local.get $count) (i32.const 2)) (local.get $place))
                (local.set $count (i32.add (local.get $count) (i32.const 1)))))
            (local.set $bits (i64.and (local.get $bits) (i64.sub (local.get $bits) (i64.const 1))))
            (br_if $candidates (i64.ne (local.get $bits) (i64.const 0))))))
      (local.set $at (i32.add (local.get $at) (i32.const 64)))
      (br $ahead))
    (unreachable))

  ;; The same for two needles: third and fourth are the probes of the other one.
  (func (export "findEither")
    (param $end i32) (param $first i32) (param $second i32) (param $third i32) (param $fourth i32) (result i32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local $0 v128) (local $1 v128) (local $2 v128) (local $3 v128) (local $found v128)
    (local $at i32) (local $atFirst i32) (local $atSecond i32) (local $atThird i32) (local $atFourth i32)
    (local $bits i64) (local $place i32) (local $count i32)
    (local.set $a (i8x16.splat (i32.load8_u (local.get $first))))
    (local.set $b (i8x16.splat (i32.load8_u (local.get $second))))
    (local.set $c (i8x16.splat (i32.load8_u offset=32 (local.get $third))))
    (local.set $d (i8x16.splat (i32.load8_u offset=32 (local.get $fourth))))
    (loop $ahead
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (local.get $count))))
      (local.set $atFirst (i32.add (local.get $at) (local.get $first)))
      (local.set $atSecond (i32.add (local.get $at) (local.get $second)))
      (local.set $atThird (i32.add (local.get $at) (local.get $third)))
      (local.set $atFourth (i32.add (local.get $at) (local.get $fourth)))
      (local.set $0 (v128.or
        (v128.and
          (i8x16.eq (v128.load offset=1024 (local.get $atFirst)) (local.get $a))
          (i8x16.eq (v128.load offset=1024 (local.get $atSecond)) (local.get $b)))
        (v128.and
          (i8x16.eq (v128.load offset=1024 (local.get $atThird)) (local.get $c))
          (i8x16.eq (v128.load offset=1024 (local.get $atFourth)) (local.get $d)))))
      (local.set $1 (v128.or
        (v128.and
          (i8x16.eq (v128.load offset=1040 (local.get $atFirst)) (local.get $a))
          (i8x16.eq (v128.load offset=1040 (local.get $atSecond)) (local.get $b)))
        (v128.and
          (i8x16.eq (v128.load offset=1040 (local.get $atThird)) (local.get $c))
          (i8x16.eq (v128.load offset=1040 (local.get $atFourth)) (local.get $d)))))
      (local.set $2 (v128.or
        (v128.and
          (i8x16.eq (v128.load offset=1056 (local.get $atFirst)) (local.get $a))
          (i8x16.eq (v128.load offset=1056 (local.get $atSecond)) (local.get $b)))
        (v128.and
          (i8x16.eq (v128.load offset=1056 (local.get $atThird)) (local.get $c))
          (i8x16.eq (v128.load offset=1056 (local.get $atFourth)) (local.get $d)))))
      (local.set $3 (v128.or
        (v128.and
          (i8x16.eq (v128.load offset=1072 (local.get $atFirst)) (local.get $a))
          (i8x16.eq (v128.load offset=1072 (local.get $atSecond)) (local.get $b)))
        (v128.and
          (i8x16.eq (v128.load offset=1072 (local.get $atThird)) (local.get $c))
          (i8x16.eq (v128.load offset=1072 (local.get $atFourth)) (local.get $d)))))
      (if (v128.any_true (v128.or (v128.or (local.get $0) (local.get $1)) (v128.or (local.get $2) (local.get $3))))
        (then
          (local.set $bits (call $bits64 (local.get $0) (local.get $1) (local.get $2) (local.get $3)))
          (loop $candidates
            (local.set $place (i32.add (local.get $at) (i32.wrap_i64 (i64.ctz (local.get $bits)))))
            (if (i32.ge_u (local.get $place) (local.get $end)) (then (return (local.get $count))))
            (local.set $found (v128.load offset=1024 (local.get $place)))
            (if (i32.or
                  (i8x16.all_true (v128.or
                    (i8x16.eq (local.get $found) (v128.load (i32.const 0)))
                    (v128.load (i32.const 16))))
                  (i8x16.all_true (v128.or
                    (i8x16.eq (local.get $found) (v128.load (i32.const 32)))
                    (v128.load (i32.const 48)))))
              (then
                (i32.store offset=32768 (i32.shl (local.get $count) (i32.const 2)) (local.get $place))
                (local.set $count (i32.add (local.get $count) (i32.const 1)))))
            (local.set $bits (i64.and (local.get $bits) (i64.sub (local.get $bits) (i64.const 1))))
            (br_if $candidates (i64.ne (local.get $bits) (i64.const 0))))))
      (local.set $at (i32.add (local.get $at) (i32.const 64)))
      (br $ahead))
    (unreachable))

  ;; A bit for each byte of four vectors that is not zero, the lowest for the first.
  (func $bits64 (param $0 v128) (param $1 v128) (param $2 v128) (param $3 v128) (result i64)
    (i64.or
      (i64.or
        (i64.extend_i32_u (i8x16.bitmask (local.get $0)))
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (local.get $1))) (i64.const 16)))
      (i64.or
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (local.get $2))) (i64.const 32))
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (local.get $3))) (i64.const 48))))))
