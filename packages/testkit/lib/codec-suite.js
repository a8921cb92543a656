'use strict'
// The suite that every codec must pass. The test of a codec is one call: testCodec(tape, codec).

const { randomInt } = require('node:crypto')
const { isDeepStrictEqual } = require('node:util')
const fc = require('fast-check')
const { parseWhere, matches } = require('@millrace/where')
const { makeFilter } = require('./filter-cases')
const { createRandom } = require('./tools')

/** @typedef {import('@millrace/where').Select} Select */
/**
 * `select`: the faster way.
 * @typedef {((buf: Buffer, start: number, end: number) => boolean) & { select?: Select }} Filter
 */

/**
 * @typedef {object} Codec
 * @property {string} name
 * @property {boolean} buffer
 * @property {(value: any) => Buffer} encode
 * @property {(buf: Buffer) => any} decode
 * @property {(buf: Buffer, start: number, end: number) => any} [decodeRange]
 * @property {(where: any) => Filter} [compile]
 */

/**
 * @typedef {object} CodecSuiteOptions
 * @property {string} [name]  begins the titles; by default the codec's name
 * @property {import('fast-check').Arbitrary<any>} [values]  random values that must come back unchanged; JSON-like by
 *   default
 * @property {unknown} [unencodable]  a value that the codec must refuse; a function by default
 * @property {number} [runs]  random values for each test
 * @property {number} [seed]  repeats the run of a failure that printed it
 */

/** Keys that objects, arrays or strings answer to without owning them. */
const HOSTILE_KEYS = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', '0', '', 'toJSON']

/**
 * Checks the codec contract: round trips, truncated and damaged bytes, and values that were decoded from a buffer
 * that is overwritten afterwards. It also compares what `compile` and its `select` find with the result of decoding
 * and comparing.
 * @type {(tape: (title: string, test: (t: any) => void) => void, codec: Codec, options?: CodecSuiteOptions) => void}
 */
function testCodec (tape, codec, options = {}) {
  const { name = codec.name, values = jsonLike(), unencodable = () => {}, runs = 1000 } = options
  const seed = options.seed ?? randomInt(2 ** 31)
  /** @type {Check} */
  const check = (title, property) => tape(`${name}: ${title} (seed ${seed})`, (t) => {
    const { failed, report } = runProperty(property, { seed, numRuns: runs })
    t.notOk(failed, report)
    t.end()
  })

  tape(`${name}: has the shape of a codec`, (t) => {
    t.equal(typeof codec.name, 'string', 'a name')
    t.equal(codec.buffer, true, 'decode takes bytes')
    t.equal(typeof codec.encode, 'function')
    t.equal(typeof codec.decode, 'function')
    t.end()
  })

  tape(`${name}: a value without an encoding fails with a code`, (t) => {
    t.equal(codeOf(() => codec.encode(unencodable)), 'ERR_CODEC_ENCODE')
    t.end()
  })

  check('a value comes back as it was', fc.property(values, (value) => {
    const bytes = codec.encode(value)
    return Buffer.isBuffer(bytes) && isDeepStrictEqual(codec.decode(bytes), value)
  }))

  check('encode gives bytes that later calls leave alone', fc.property(values, values, (value, other) => {
    const bytes = codec.encode(value)
    codec.encode(other)
    return isDeepStrictEqual(codec.decode(bytes), value)
  }))

  check('a truncated record is an error with a code, or a value', fc.property(values, (value) => {
    const bytes = codec.encode(value)
    const step = Math.max(1, Math.floor(bytes.length / 200)) // all of them, unless the record is long
    for (let size = 0; size < bytes.length; size += step) decodes(codec, bytes.subarray(0, size))
  }))

  check('a damaged record is an error with a code, or a value', fc.property(damagedRecords(codec, values), (bytes) => {
    decodes(codec, bytes)
  }))

  if (codec.decodeRange !== undefined) testDecodeRange(check, codec, values)
  if (codec.compile !== undefined) testCompile(tape, check, name, codec, values)
}

/**
 * @typedef {(title: string, property: import('fast-check').IProperty<any>) => void} Check
 * @param {import('fast-check').IProperty<any>} property
 * @param {{ seed: number, numRuns: number }} options
 * @returns {{ failed: boolean, report: string }}  making the random values can fail too, if `encode` throws
 */
function runProperty (property, options) {
  try {
    const details = /** @type {import('fast-check').RunDetails<any>} */ (fc.check(property, options))
    return { failed: details.failed, report: fc.defaultReportMessage(details) ?? `${details.numRuns} random cases` }
  } catch (err) {
    return { failed: true, report: err instanceof Error ? String(err.stack) : String(err) }
  }
}

/** @type {(check: Check, codec: Codec, values: import('fast-check').Arbitrary<any>) => void} */
function testDecodeRange (check, codec, values) {
  const decodeRange = /** @type {NonNullable<Codec['decodeRange']>} */ (codec.decodeRange)

  const around = surroundings()
  const title = 'decodeRange equals decode, and keeps nothing of the memory it read'
  check(title, fc.property(values, around, (value, surrounding) => {
    const { buf, start, end } = embed(codec.encode(value), surrounding)
    const found = decodeRange(buf, start, end)
    buf.fill(0xaa)
    return isDeepStrictEqual(found, value)
  }))

  const damaged = damagedRecords(codec, values)
  check('decodeRange refuses what decode refuses', fc.property(damaged, around, (bytes, surrounding) => {
    const { buf, start, end } = embed(bytes, surrounding)
    return decodes(codec, bytes) === (codeOf(() => decodeRange(buf, start, end)) === undefined)
  }))
}

/**
 * @param {(title: string, test: (t: any) => void) => void} tape
 * @param {Check} check
 * @param {string} name
 * @param {Codec} codec
 * @param {import('fast-check').Arbitrary<any>} values
 */
function testCompile (tape, check, name, codec, values) {
  const compile = /** @type {NonNullable<Codec['compile']>} */ (codec.compile)

  const sound = values.chain((value) => fc.tuple(fc.constant(codec.encode(value)), wheresFor(value)))
  const damaged = values.chain((value) => fc.tuple(damage(codec.encode(value)), wheresFor(value)))

  check('compile answers as decoding and comparing does', fc.property(sound, ([bytes, where]) => {
    return compile(where)(bytes, 0, bytes.length) === matches(parseWhere(where), codec.decode(bytes))
  }))

  const title = 'compile answers so for damaged records that still decode, and throws for none'
  check(title, fc.property(damaged, ([bytes, where]) => {
    const answer = compile(where)(bytes, 0, bytes.length)
    if (typeof answer !== 'boolean') return false
    return !decodes(codec, bytes) || answer === matches(parseWhere(where), codec.decode(bytes))
  }))

  const around = fc.tuple(surroundings(), surroundings())
  const either = fc.oneof(sound, damaged)
  check('compile does not look outside the record', fc.property(either, around, ([bytes, where], pair) => {
    const test = compile(where)
    const [one, other] = pair.map((surrounding) => embed(bytes, surrounding))
    return test(one.buf, one.start, one.end) === test(other.buf, other.start, other.end)
  }))

  const many = fc.tuple(fc.array(either, { minLength: 1, maxLength: 30 }), fc.nat(), fc.boolean(), around)
  check('what compile selects from many records is what it answers for each', fc.property(many, ([all, nth, isForward, gaps]) => {
    const test = compile(all[nth % all.length][1])
    if (!test.select) return true
    const records = placeRecords(all.map(([bytes]) => bytes), gaps, isForward)
    const { buffer, count, starts, ends } = records
    const expected = [...starts.keys()].filter((index) => test(buffer, starts[index], ends[index]))
    const picked = new Uint32Array(count)
    // Several times: a selection learns from what it finds.
    return [1, 2, 3, 4, 5].every(() => {
      const pickedCount = /** @type {Select} */ (test.select)(records, picked)
      return String(picked.subarray(0, pickedCount)) === String(expected)
    })
  }))

  tape(`${name}: compile refuses what is no filter`, (t) => {
    for (const where of [undefined, null, 'x', {}, { path: 'a.', equals: 1 }, { path: ['a'], equals: {} },
      { path: ['a'], equal: 1 }, { path: ['a'], gt: null }, { any: {} }, { path: ['a'], exists: 1 }, { path: ['a'], equals: 1, exists: true }]) {
      t.equal(codeOf(() => compile(where)), 'ERR_INVALID_ARGUMENT')
    }
    t.end()
  })
}

/**
 * @param {Buffer[]} records
 * @param {Surroundings[]} gaps  used in turn, between the records
 * @param {boolean} isForward  whether to list the records in the order of their positions
 */
function placeRecords (records, gaps, isForward) {
  const buffer = Buffer.concat(records.flatMap((bytes, index) => [gaps[index % gaps.length].before, bytes]))
  let end = 0
  const ends = records.map(({ length }, index) => (end += gaps[index % gaps.length].before.length + length))
  const starts = ends.map((end, index) => end - records[index].length)
  if (!isForward) for (const offsets of [starts, ends]) offsets.reverse()
  return { buffer, count: records.length, starts: Uint32Array.from(starts), ends: Uint32Array.from(ends) }
}

/**
 * @param {() => unknown} run
 * @returns {string | undefined}  the code of the error; undefined if `run` returned
 * @throws an error without a code
 */
function codeOf (run) {
  try {
    run()
    return undefined
  } catch (err) {
    const { code } = /** @type {any} */ (err)
    if (typeof code === 'string') return code
    throw err
  }
}

/** Whether the bytes decode. Only ERR_CODEC_DECODE may say no. @type {(codec: Codec, bytes: Buffer) => boolean} */
function decodes (codec, bytes) {
  const code = codeOf(() => codec.decode(bytes))
  if (code !== undefined && code !== 'ERR_CODEC_DECODE') throw new Error(`expected ERR_CODEC_DECODE, got ${code}`)
  return code === undefined
}

/**
 * Values that JSON and binary codecs both keep: no -0, no undefined, no lone surrogates.
 * @returns {import('fast-check').Arbitrary<any>}
 */
function jsonLike () {
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.string({ maxLength: 20 }),
    fc.constantFrom(...HOSTILE_KEYS, '/', '"', '\\', '\u2028', '\ufffd', '\\u0041', '\n', 'é'.repeat(20), 'x'.repeat(200)))
  const number = fc.oneof(fc.integer(), fc.integer({ min: -3, max: 3 }), fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true })).map((value) => value === 0 ? 0 : value)
  const key = fc.oneof(text, fc.constantFrom('a', 'b', 'value', 'content', ...HOSTILE_KEYS))
  return fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, text, number, fc.boolean(), fc.constant(null),
      fc.array(tie('value'), { maxLength: 6 }), tie('object')),
    // fromEntries defines properties, so `__proto__` becomes a plain key, as in JSON.parse.
    object: fc.array(fc.tuple(key, tie('value')), { maxLength: 6 }).map((entries) => Object.fromEntries(entries))
  })).value
}

/**
 * Filters that often match: most of their paths and targets come from the value.
 * @param {unknown} value
 * @returns {import('fast-check').Arbitrary<any>}  conditions and lists of conditions
 */
function wheresFor (value) {
  const found = collectPrimitives(value)
  const primitives = [...found.map(({ equals }) => equals), 0, 1, '', 'a', '\ufffd', '\ud800', true, false, null]
  const equals = fc.constantFrom(...primitives)
  const hostilePath = fc.array(fc.constantFrom(...HOSTILE_KEYS), { maxLength: 3 })
  const path = fc.oneof(fc.constantFrom(...found.map((hit) => hit.path), []), hostilePath)
  const longerPath = fc.tuple(path, hostilePath).map(([keys, more]) => [...keys, ...more])
  const condition = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...found, { path: [], equals: null }) },
    { weight: 1, arbitrary: fc.constantFrom(...collectTraps(value)) },
    { weight: 1, arbitrary: fc.record({ path, equals }) },
    { weight: 1, arbitrary: fc.record({ path: longerPath, equals }) },
    { weight: 2, arbitrary: presencesFor(value, fc.oneof(path, longerPath)) })
  // Of every operator, in any combination.
  const other = fc.nat().map((seed) => makeFilter(createRandom(seed), value))
  return fc.oneof(condition, fc.array(condition, { maxLength: 3 }), other)
}

/**
 * @param {unknown} value
 * @param {import('fast-check').Arbitrary<string[]>} more  paths that may exist in the value
 * @returns {import('fast-check').Arbitrary<any>}  filters with `exists`
 */
function presencesFor (value, more) {
  const traps = collectTraps(value).map(({ path }) => path)
  const path = fc.oneof(fc.constantFrom(...collectPaths(value)), fc.constantFrom(...traps), more)
  return fc.record({ path, exists: fc.boolean() })
}

/**
 * @param {any} value
 * @param {string[]} [path]
 * @returns {string[][]}  every path that a filter can follow
 */
function collectPaths (value, path = []) {
  if (value === null || typeof value !== 'object' || Array.isArray(value) || ArrayBuffer.isView(value)) return [path]
  return [path, ...Object.keys(value).flatMap((key) => collectPaths(value[key], [...path, key]))]
}

/**
 * @param {any} value
 * @param {string[]} [path]
 * @returns {Array<{ path: string[], equals: any }>}  filters that match only if a codec follows more than own
 *   properties of objects: an array's length and items, a string's units, inherited properties
 */
function collectTraps (value, path = []) {
  if (value === null || value === undefined) return [{ path, equals: 'null' }]
  const inherited = { path: [...path, 'constructor', 'name'], equals: Object(value).constructor?.name ?? '' }
  const isList = typeof value === 'string' || Array.isArray(value) || ArrayBuffer.isView(value)
  if (isList) {
    const list = /** @type {ArrayLike<any>} */ (/** @type {unknown} */ (value))
    const first = collectPrimitives(list[0]).filter((hit) => hit.path.length === 0)
    const items = first.map(({ equals }) => ({ path: [...path, '0'], equals }))
    return [{ path: [...path, 'length'], equals: list.length }, inherited, ...items]
  }
  if (typeof value !== 'object') return [inherited]
  return [inherited, ...Object.keys(value).flatMap((key) => collectTraps(value[key], [...path, key]))]
}

/**
 * @param {any} value
 * @param {string[]} [path]
 * @returns {Array<{ path: string[], equals: any }>}  every primitive that a filter can reach
 */
function collectPrimitives (value, path = []) {
  const isPrimitive = value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value)
  if (isPrimitive) return [{ path, equals: value }]
  if (typeof value !== 'object' || Array.isArray(value) || ArrayBuffer.isView(value)) return []
  return Object.keys(value).flatMap((key) => collectPrimitives(value[key], [...path, key]))
}

/** @type {(codec: Codec, values: import('fast-check').Arbitrary<any>) => import('fast-check').Arbitrary<Buffer>} */
function damagedRecords (codec, values) {
  return values.chain((value) => damage(codec.encode(value)))
}

/**
 * @param {Buffer} bytes
 * @returns {import('fast-check').Arbitrary<Buffer>}  a copy with flipped bits, replaced bytes and parts cut out
 */
function damage (bytes) {
  const position = fc.nat({ max: Math.max(0, bytes.length - 1) })
  const edit = fc.record({ kind: fc.constantFrom('flip', 'replace', 'cut'), at: position, to: position, byte: fc.nat(255) })
  return fc.array(edit, { minLength: 1, maxLength: 4 }).map((edits) => edits.reduce(applyEdit, Buffer.from(bytes)))
}

/**
 * @param {Buffer} buf  edited in place, except by a cut
 * @param {{ kind: string, at: number, to: number, byte: number }} edit
 * @returns {Buffer}
 */
function applyEdit (buf, { kind, at, to, byte }) {
  if (kind === 'cut') return Buffer.concat([buf.subarray(0, at), buf.subarray(to)])
  if (at < buf.length) buf[at] = kind === 'flip' ? buf[at] ^ (1 << (byte & 7)) : byte
  return buf
}

/**
 * @typedef {{ before: Uint8Array, after: Uint8Array, repeats: boolean }} Surroundings
 * @returns {import('fast-check').Arbitrary<Surroundings>}  bytes around a record: other bytes, or a copy of the record
 */
function surroundings () {
  const uniform = fc.constantFrom(new Uint8Array(60), new Uint8Array(60).fill(255))
  return fc.record({
    before: fc.uint8Array({ maxLength: 20 }),
    after: fc.oneof(fc.uint8Array({ maxLength: 60 }), uniform),
    repeats: fc.boolean()
  })
}

/** @type {(bytes: Buffer, around: Surroundings) => { buf: Buffer, start: number, end: number }} */
function embed (bytes, { before, after, repeats }) {
  const buf = Buffer.concat(repeats ? [before, bytes, bytes, after] : [before, bytes, after])
  return { buf, start: before.length, end: before.length + bytes.length }
}

exports.testCodec = testCodec
