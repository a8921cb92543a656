'use strict'
// JsonCheck against the slow, obvious way: decode the whole text, and parse it.

const tape = require('tape')
const { createRandom, isLongRun } = require('@millrace/testkit')
const { DONE, JsonCheck, MORE, REFUSED } = require('..')

const COUNT = isLongRun ? 200_000 : 4000
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const MARKS = ['{', '}', '[', ']', ',', ':', '"', '\\', '\\u', 'd83d', '-', '0', '1', '.', 'e', '+', 't', 'true', 'false', 'null',
  ' ', '\n', '\r', '\t', '\0', '\u001f', '\u007f', '\u00e9', '\u20ac', '\ufeff', '\u00a0', '\u2028', '\u{1f600}', '\\ud83d', 'NaN', '\'', '/']

const LETTERS = ['a', '\\n', '\\"', '\\\\', '\\/', '\\u0041', '\\ud83d\\ude00', '\\udead', '\u00e9', '\u20ac', '\u{1f600}',
  '{', ']', ',', '\u007f', '\ufeff', '\u2028']

/** Whether the bytes are one JSON text. */
function isJson (bytes) {
  try {
    JSON.parse(decoder.decode(bytes))
    return true
  } catch {
    return false
  }
}

/** The same by JsonCheck, given the bytes in pieces. */
function isAccepted (check, bytes, cuts) {
  check.begin()
  let from = 0
  while (bytes[from] === 0x20 || bytes[from] === 0x0a || bytes[from] === 0x0d || bytes[from] === 0x09) from++
  for (const to of [...cuts.filter((cut) => cut > from).sort((a, b) => a - b), bytes.length]) {
    from = check.pass(bytes, from, to)
    if (check.status !== MORE) break
  }
  if (!check.end()) return false
  for (; from < bytes.length; from++) if (!' \n\r\t'.includes(String.fromCharCode(bytes[from]))) return false
  return true
}

function makeText (random, depth = 0) {
  const pick = (list) => list[random(list.length)]
  const space = () => random(6) === 0 ? pick([' ', '\n', '\t', '\r', '  ']) : ''
  const string = () => `"${Array.from({ length: random(6) }, () => pick(LETTERS)).join('')}"`
  const kind = random(depth > 5 ? 4 : 7)
  if (kind === 0) return pick(['0', '-0', '1', '-12', '1.5', '1e5', '1E+5', '-0.0e-0', '123456789012345678901234567890', '9'.repeat(400), '1e999'])
  if (kind === 1) return pick(['true', 'false', 'null'])
  if (kind <= 3) return string()
  const items = Array.from({ length: random(4) }, () => {
    const value = space() + makeText(random, depth + 1) + space()
    return kind === 4 ? value : `${space()}${random(3) === 0 ? '"k"' : string()}${space()}:${value}`
  })
  return kind === 4 ? `[${space()}${items.join(',')}]` : `{${space()}${items.join(',')}}`
}

/** Bytes are cut off, put in, doubled and changed. */
function damage (random, bytes) {
  for (let left = random(3); left > 0; left--) {
    const at = random(bytes.length + 1)
    const mark = random(4) === 0 ? Buffer.from([random(256)]) : Buffer.from(MARKS[random(MARKS.length)])
    const behind = random(2) === 0 ? at : Math.min(bytes.length, at + 1 + random(3))
    bytes = Buffer.concat([bytes.subarray(0, at), mark, bytes.subarray(random(8) === 0 ? bytes.length : behind)])
  }
  return bytes
}

tape('check: random texts, damaged and in pieces, against JSON.parse', (t) => {
  const seed = Date.now() % 1e9
  const random = createRandom(seed)
  const check = new JsonCheck()
  let refused = 0
  for (let n = 0; n < COUNT; n++) {
    const bytes = damage(random, Buffer.from(`${[' ', '', '\n'][random(3)]}${makeText(random)}`))
    const expected = isJson(bytes)
    if (!expected) refused++
    const cuts = Array.from({ length: random(4) }, () => random(bytes.length + 1))
    if (isAccepted(check, bytes, cuts) !== expected) {
      t.fail(`seed ${seed}: ${JSON.stringify(bytes.toString('latin1'))}, cut at ${cuts}`)
      return t.end()
    }
  }
  t.ok(refused > COUNT / 20 && refused < COUNT * 0.9, `seed ${seed}, ${refused} of ${COUNT} refused`)
  t.end()
})

tape('check: a text may be cut at every byte, and at all of them', (t) => {
  const check = new JsonCheck()
  const texts = [
    '{"a\\u00e9\\\\":[1,-0.5e+10,true,false,null,"\u00e9\u20ac\u{1f600}\\ud83d"],"a":{},"b":[[]]}', '"\u{1f600}"', '-12.5', 'null'
  ]
  for (const text of texts) {
    const bytes = Buffer.from(text)
    const every = Array.from({ length: bytes.length }, (_, at) => at)
    t.ok(every.every((at) => isAccepted(check, bytes, [at])) && isAccepted(check, bytes, every), text)
    const beginnings = every.map((length) => bytes.subarray(0, length))
    t.deepEqual(beginnings.filter((part) => isAccepted(check, part, []) !== isJson(part)), [], 'cut off anywhere')
  }
  t.end()
})

tape('check: every byte in the place of every other, and every pair of bytes in a text', (t) => {
  const check = new JsonCheck()
  const wrong = []
  for (const text of ['{"a":[1.5,"\u20ac\\n"],"b":null}', '[{},-0e1]']) {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at++) {
      for (let byte = 0; byte < 256; byte++) {
        const changed = Buffer.from(bytes)
        changed[at] = byte
        if (isAccepted(check, changed, [at]) !== isJson(changed)) wrong.push(changed)
      }
    }
  }
  for (let pair = 0; pair < 65_536; pair++) {
    const bytes = Buffer.from([0x22, pair >> 8, pair & 0xff, 0x80, 0x22])
    if (isAccepted(check, bytes, []) !== isJson(bytes)) wrong.push(bytes)
  }
  t.deepEqual(wrong, [])
  t.end()
})

tape('check: where a value ends, its parts, its depth, and what is refused', (t) => {
  const check = new JsonCheck()
  const pass = (text) => {
    const bytes = Buffer.from(text)
    check.begin()
    return [check.pass(bytes, 0, bytes.length), check.status]
  }
  t.deepEqual(pass('[1] ,'), [3, DONE])
  t.deepEqual(pass('12 ,'), [2, DONE])
  t.deepEqual(pass('12,'), [2, DONE])
  t.deepEqual(pass('"a",'), [3, DONE])
  t.deepEqual(pass('12'), [2, MORE], 'digits may follow')
  pass('[{},{"a":1,"b":[2,3]}]')
  t.equal(check.parts, 7)
  t.equal(pass('['.repeat(1000) + ']'.repeat(1000))[1], DONE)
  t.deepEqual(pass('['.repeat(1001)), [1000, REFUSED])
  t.match(check.reason, /deeper than 1000/)
  t.deepEqual(pass('{"a" 1}'), [5, REFUSED])
  t.equal(check.reason, '"1" is unexpected')
  check.begin()
  check.pass(Buffer.from([0x22, 0xff]), 0, 2)
  t.equal(check.reason, 'it is not UTF-8')
  t.end()
})
