'use strict'
// Bodies cut into records, against the slow, obvious way: decode all, divide, parse each.

const tape = require('tape')
const { createRandom, isLongRun } = require('@millrace/testkit')
const { pairIn } = require('../lib/counts/pair-in')
const { pairOf } = require('../lib/counts/tally')
const { stampRecords } = require('../lib/record')
const { RecordCutter } = require('../lib/record-cutter')

const LIMITS = { batchCount: 8, recordSize: 200 }
const JSON_TYPE = 'application/json'
const LINES_TYPE = 'application/x-ndjson'
const COUNT = isLongRun ? 100_000 : 4000
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const SPACE = /^[ \t\r\n]*|[ \t\r\n]*$/g
const trim = (text) => text.replace(SPACE, '')

/** The texts of the elements of an array that JSON.parse accepts. */
function splitArray (text) {
  const texts = []
  let depth = 0
  let isString = false
  let part = ''
  for (let at = 0; at < text.length; at++) {
    const unit = text[at]
    if (isString && unit === '\\') {
      part += unit + text[++at]
      continue
    }
    if (unit === '"') isString = !isString
    const isMark = !isString && '[]{},'.includes(unit)
    if (isMark && '[{'.includes(unit) && ++depth === 1) continue
    const isEnd = isMark && (unit === ',' ? depth === 1 : ']}'.includes(unit) && --depth === 0)
    if (!isEnd) part += unit
    else {
      if (unit === ',' || texts.length > 0 || trim(part) !== '') texts.push(trim(part))
      part = ''
    }
  }
  return texts
}

/** The texts of the records, or a status. */
function expect (bytes, type) {
  let text
  try {
    text = decoder.decode(bytes).replace(/^\ufeff/, '')
  } catch {
    return 400
  }
  const texts = type === LINES_TYPE ? text.split('\n').map(trim).filter((line) => line !== '') : [trim(text)]
  try {
    const values = texts.map((text) => JSON.parse(text))
    const all = type === JSON_TYPE && Array.isArray(values[0]) ? splitArray(texts[0]) : texts
    if (all.length === 0) return 400
    const isTooLarge = all.length > LIMITS.batchCount || all.some((text) => Buffer.byteLength(text) > LIMITS.recordSize)
    return isTooLarge ? 413 : all.map((text) => text.replace(/[\r\n]/g, ' '))
  } catch {
    return 400
  }
}

/** The same from the cutter. `pairs`: of a log of events. */
function cut (bytes, type, cuts = [], wantsPairs = false) {
  const cutter = new RecordCutter(type, LIMITS, wantsPairs)
  let from = 0
  try {
    for (const to of [...cuts.sort((a, b) => a - b), bytes.length]) {
      if (to > from) {
        // The memory of a chunk is used again.
        const chunk = Buffer.from(bytes.subarray(from, to))
        cutter.write(chunk)
        cutter.step()
        chunk.fill(0)
      }
      from = to
    }
    const { records, pairs } = cutter.finish()
    if (wantsPairs) return pairs
    stampRecords(records, 1790000000000, null)
    return records.map((record) => /^\{"time":1790000000000,"value":(.*)\}$/s.exec(record.toString())[1])
  } catch (err) {
    if (err.statusCode === undefined) throw err
    return err.statusCode
  }
}

function makeValue (random, depth = 0) {
  const kind = random(depth > 2 ? 3 : 5)
  if (kind === 0) return random(1000) / 7
  if (kind === 1) return ['a', ',', ']', '"', '\\', '[{', '\\"', '\u2028', '\n', '\u20ac', '\u{1f600}', '\udead', 'x'.repeat(90)][random(13)]
  if (kind === 2) return [null, true, '', {}, []][random(5)]
  if (kind === 3) return Array.from({ length: random(4) }, () => makeValue(random, depth + 1))
  return Object.fromEntries(Array.from({ length: random(4) }, () => [['k', ',]', '"'][random(3)] + random(9), makeValue(random, depth + 1)]))
}

function makeBody (random, type) {
  const values = Array.from({ length: random(random(10) === 0 ? 12 : 5) }, () => makeValue(random))
  const space = () => random(4) === 0 ? [' ', '\t', '\r'][random(3)] : ''
  if (type === LINES_TYPE) return values.map((value) => `${space()}${JSON.stringify(value)}${space()}${['\n', '\r\n', '\n\n'][random(3)]}`).join('').slice(0, random(3) === 0 ? -1 : undefined)
  return `${space()}${JSON.stringify(random(4) === 0 ? values[0] ?? 1 : values, null, random(3))}${space()}`
}

tape('cut: a byte-order mark that is torn is refused, also if a space or a new line comes in its place', (t) => {
  for (const type of [JSON_TYPE, LINES_TYPE]) {
    for (const torn of [[0xef, 0x20], [0xef, 0xbb, 0x0a], [0xef, 0xbb, 0x0d], [0xef, 0x0a, 0xbf], [0xef, 0xbb]]) {
      const bytes = Buffer.from([...torn, 0x31])
      t.equal(cut(bytes, type), 400, torn.join())
      t.equal(cut(bytes, type, [1, 2]), 400)
    }
    t.deepEqual(cut(Buffer.from('\ufeff 1'), type), ['1'])
  }
  t.end()
})

tape('cut: random bodies, damaged and in pieces, against the slow way', (t) => {
  const seed = Date.now() % 1e9
  const random = createRandom(seed)
  const statuses = { 400: 0, 413: 0, 200: 0 }
  for (let n = 0; n < COUNT; n++) {
    const type = [JSON_TYPE, LINES_TYPE][random(2)]
    let bytes = Buffer.from(`${random(20) === 0 ? '\ufeff' : ''}${makeBody(random, type)}`)
    if (random(3) === 0 && bytes.length > 0) {
      const at = random(bytes.length)
      if (random(2) === 0) bytes[at] = random(3) === 0 ? random(256) : Buffer.from('"\\,:{}[] \n\0')[random(11)]
      else {
        const behind = random(2) === 0 ? bytes.length : random(bytes.length)
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(behind)])
      }
    }
    const cuts = Array.from({ length: random(5) }, () => random(bytes.length + 1))
    const expected = expect(bytes, type)
    statuses[typeof expected === 'number' ? expected : 200]++
    const found = cut(bytes, type, cuts)
    if (JSON.stringify(found) !== JSON.stringify(expected) && !(found === 413 && expected === 400)) {
      t.fail(`seed ${seed}: ${type} ${JSON.stringify(bytes.toString('latin1'))}, cut at ${cuts}: ${found}, expected ${expected}`)
      return t.end()
    }
  }
  t.ok(Object.values(statuses).every((count) => count > COUNT / 100), `seed ${seed}: ${JSON.stringify(statuses)}`)
  t.end()
})

tape('cut: a body may be cut at every byte, and at all of them', (t) => {
  const bodies = [
    [JSON_TYPE, '\ufeff [ {"a":"\u20ac\\"]"} , 12,[1,\r\n2] ]\n'], [JSON_TYPE, ' 12.5'], [JSON_TYPE, '12'], [LINES_TYPE, '\ufeff1\n\r\n{"b":"\u{1f600}"}\r\n 3']
  ]
  for (const [type, text] of bodies) {
    const bytes = Buffer.from(text)
    const expected = expect(bytes, type)
    const every = Array.from({ length: bytes.length }, (_, at) => at)
    const show = (cuts) => JSON.stringify(cut(bytes, type, cuts))
    const ways = [...every.map((at) => [at]), every]
    t.deepEqual(ways.filter((cuts) => show(cuts) !== JSON.stringify(expected)), [], text)
  }
  t.end()
})

tape('cut: what a limit refuses is refused at the byte that exceeds it', (t) => {
  const statusAt = (type, make) => {
    const cutter = new RecordCutter(type, LIMITS, false)
    const bytes = Buffer.from(make)
    for (let at = 0; at < bytes.length; at++) {
      try {
        cutter.write(bytes.subarray(at, at + 1))
        cutter.step()
      } catch (err) {
        return [at, err.statusCode]
      }
      if (cutter.heldSize > 2 * bytes.length + 4096 + 8 * 160) t.fail(`${cutter.heldSize} bytes are held`)
    }
    return null
  }
  t.deepEqual(statusAt(JSON_TYPE, `[${'{},'.repeat(1000)}`), [1 + 3 * 8, 413], 'records')
  t.deepEqual(statusAt(LINES_TYPE, '{}\n'.repeat(1000)), [3 * 8, 413], 'lines')
  t.deepEqual(statusAt(JSON_TYPE, `["${'x'.repeat(1000)}`), [1 + 200, 413], 'a record')
  t.deepEqual(statusAt(LINES_TYPE, '1'.repeat(1000)), [200, 413], 'a line')
  const deep = { batchCount: 8, recordSize: 5000 }
  const cutter = new RecordCutter(JSON_TYPE, deep, false)
  cutter.write(Buffer.from('['.repeat(1002)))
  t.throws(() => cutter.step(), { statusCode: 400 }, 'levels')
  t.end()
})

tape('cut: the pairs of events are those that parsing finds', (t) => {
  const seed = Date.now() % 1e9
  const random = createRandom(seed)
  const spell = (name) => random(6) === 0 ? `"${[...name].map((letter) => random(2) === 0 ? letter : `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"` : `"${name}"`
  const texts = ['"s"', '""', '1', 'null', '"\\u0041\\n"', `"${'x'.repeat(100)}"`, `"${'x'.repeat(101)}"`, `"${'\\ud83d\\ude00'.repeat(100)}"`, `"${'\u20ac'.repeat(101)}"`, '[1]']
  for (let n = 0; n < COUNT; n++) {
    const members = Array.from({ length: random(5) }, () => {
      const name = ['source', 'event', 'other', 'sources', '__proto__'][random(5)]
      return `${spell(name)} : ${random(3) === 0 ? JSON.stringify(makeValue(random)) : texts[random(texts.length)]}`
    })
    const text = random(10) === 0 ? JSON.stringify(makeValue(random)) : `{ ${members.join(' ,')} }`
    const bytes = Buffer.from(text)
    const found = pairIn(bytes, 0, bytes.length)
    const expected = pairOf(JSON.parse(text))
    if (found.join('\n') !== expected.join('\n')) {
      t.fail(`seed ${seed}: ${text}: ${found}, expected ${expected}`)
      return t.end()
    }
  }
  t.pass(`seed ${seed}`)
  t.deepEqual(cut(Buffer.from('[{"source":"a","event":"b"},1,{"event":"d","source":"c"}]'), JSON_TYPE, [20], true), ['a', 'b', 'c', 'd'])
  t.end()
})

tape('cut: the time of records, and the mark of the last one', (t) => {
  const cutter = new RecordCutter(JSON_TYPE, LIMITS, false)
  cutter.write(Buffer.from('[1,"\u20ac"]'))
  cutter.step()
  const { records } = cutter.finish()
  stampRecords(records, 5, { key: 'k', body: 'b', count: 2 })
  t.deepEqual(records.map(String), [
    '{"time":            5,"value":1}', '{"time":5,"idempotency":{"key":"k","body":"b","count":2},"value":"\u20ac"}'
  ])
  t.end()
})
