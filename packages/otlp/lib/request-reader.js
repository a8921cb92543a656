'use strict'
// Reads a logs request step by step, while it arrives. A small one is read at once; of a larger one, a cutter takes one
// log record after the other, so that no more than a record is worked on at once, and nothing is kept but the texts.

const { LogError } = require('@millrace/errors')
const { JsonCutter } = require('./json-cutter')
const { JsonTranscoder } = require('./json-to-json')
const { PARTS_MAX, emptyResource, emptyScope, tooMany, tooManyParts } = require('./log-record')
const { ProtobufCutter } = require('./protobuf-cutter')
const { ProtobufReader } = require('./protobuf-reader')
const { writeMembers } = require('./protobuf-to-json')
const { join, partOf, readAtOnce, sizeOf, sizeOfRecord, writer } = require('./read-as-json')
const json = require('./read-json')
const protobuf = require('./read-protobuf')

/** A request up to this size is read at once. Texts are joined in pieces of about this size. */
const WHOLE_SIZE = 256 * 1024
/** About what a Buffer and a Range cost. */
const VIEW_SIZE = 256

/**
 * @typedef {import('./answers').Encoding} Encoding
 * @typedef {import('./read-as-json').Part} Part
 * @typedef {import('./read-as-json').Range} Range
 * @typedef {import('./read-as-json').RangeGroup} RangeGroup
 *
 * @typedef {object} RequestLimits
 * @property {number} countMax  log records of a request
 * @property {number} recordSize  bytes of a log record, as it is sent and as a text. A larger one is rejected, and the
 *   others go on
 * @property {number} sizeMax  bytes of all texts
 * @property {string} before  what stands before each text, in ASCII
 * @property {string} after
 * @property {number} [wholeSize]  a request up to this size is read at once; 256 KiB by default
 */

/**
 * Reads a request step by step while it arrives, for servers: it works only as long as its caller allows, and refuses
 * what exceeds a limit before it has read the rest. `write(chunk)` takes a part of the request once `nextSize` is 0;
 * `step()` works on `nextSize` bytes, which is no more than a chunk or a record. A record of more than `recordSize`
 * bytes is rejected, and `finish()` gives their number. The whole request is refused if a resource or a scope is
 * larger, or if one of them or a record has more than 100,000 values.
 */
class RequestReader {
  #limits
  #isProtobuf
  #wholeSize
  /** @type {Buffer[]} */
  #chunks = []
  #chunksSize = 0
  /** Where the cutter is in the first chunk. */
  #at = 0
  /** @type {JsonSink | ProtobufSink | null} */
  #sink = null
  /** @type {JsonCutter | ProtobufCutter | null} */
  #cutter = null
  #isEnded = false
  /** What is joined next. @type {Part[] | null} */
  #parts = null
  /** @type {Buffer[]} */
  #texts = []
  #textsSize = 0
  #rejectedCount = 0

  /**
   * @param {Encoding} encoding
   * @param {RequestLimits} limits
   */
  constructor (encoding, limits) {
    this.#isProtobuf = encoding === 'protobuf'
    this.#limits = limits
    this.#wholeSize = limits.wholeSize ?? WHOLE_SIZE
  }

  /** Bytes that the next step works on; 0: more of the request is needed, or all is done. */
  get nextSize () {
    if (this.#parts !== null) return this.#parts.length === 0 ? 0 : sizeOf(this.#parts[0])
    if (this.#cutter === null) return this.#isEnded ? this.#chunksSize : 0
    if (this.#cutter.ready !== null) return this.#cutter.ready.length
    return this.#chunks.length === 0 ? 0 : this.#chunks[0].length - this.#at
  }

  /** Bytes that it holds. */
  get heldSize () {
    const sink = this.#sink
    return this.#chunksSize + (this.#cutter?.heldSize ?? 0) + this.#textsSize +
      (sink === null ? 0 : sink.size + VIEW_SIZE * sink.count)
  }

  /**
   * Takes a part of the request, once `nextSize` is 0.
   * @param {Buffer} chunk
   */
  write (chunk) {
    this.#chunks.push(chunk)
    this.#chunksSize += chunk.length
    if (this.#cutter === null && this.#chunksSize > this.#wholeSize) this.#beginCutting()
  }

  /**
   * Works on `nextSize` bytes.
   * @throws {LogError} ERR_CODEC_DECODE; ERR_RECORD_TOO_LARGE beyond the limits
   */
  step () {
    try {
      if (this.#parts !== null) this.#join(/** @type {Part} */ (this.#parts.shift()))
      else if (this.#cutter !== null) this.#cut()
      else this.#readAtOnce()
    } finally {
      writer.clear()
    }
  }

  /** No more comes. */
  end () {
    this.#isEnded = true
    if (this.#cutter !== null) this.#endCutting()
    else if (this.#chunksSize === 0) {
      this.#beginCutting()
      this.#endCutting()
    }
  }

  /** The texts, and how many records were rejected. */
  finish () {
    return { texts: this.#texts, rejectedCount: this.#rejectedCount }
  }

  #readAtOnce () {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks)
    const groups = readAtOnce(this.#isProtobuf, bytes, this.#limits.countMax)
    if (groups === null) return this.#beginCutting()
    this.#chunks = []
    this.#chunksSize = 0
    const parts = this.#plan(groups)
    // Nearly always it is one part, which needs no copy.
    if (parts.length === 1) return this.#join(/** @type {Part} */ (parts.pop()))
    const written = Buffer.from(writer.bytes.subarray(0, writer.at))
    for (const { records } of parts) for (const record of records) record.bytes = written
  }

  #beginCutting () {
    const limits = this.#limits
    if (this.#isProtobuf) this.#cutter = new ProtobufCutter(this.#sink = new ProtobufSink(limits), limits.recordSize)
    else this.#cutter = new JsonCutter(this.#sink = new JsonSink(limits), limits.recordSize)
  }

  #cut () {
    const cutter = /** @type {JsonCutter | ProtobufCutter} */ (this.#cutter)
    if (cutter.ready !== null) cutter.take()
    else {
      const chunk = this.#chunks[0]
      this.#at = cutter.pass(chunk, this.#at)
      if (this.#at === chunk.length) {
        this.#chunks.shift()
        this.#chunksSize -= chunk.length
        this.#at = 0
      }
    }
    this.#sink?.keep()
    if (this.#isEnded && cutter.ready === null && this.#chunks.length === 0) this.#endCutting()
  }

  #endCutting () {
    this.#cutter?.end()
    const { groups, rejectedCount } = /** @type {JsonSink | ProtobufSink} */ (this.#sink)
    this.#rejectedCount = rejectedCount
    this.#plan(groups)
  }

  /**
   * What is to be joined, in pieces.
   * @param {RangeGroup[]} groups
   * @throws {LogError} ERR_RECORD_TOO_LARGE
   */
  #plan (groups) {
    const { recordSize, sizeMax, before, after } = this.#limits
    const parts = this.#parts = /** @type {Part[]} */ ([])
    let all = 0
    for (const group of groups) {
      const part = partOf(group, before, after)
      let size = Infinity
      for (const record of group.records) {
        const own = sizeOfRecord(part, record)
        if (own - before.length - after.length > recordSize) {
          this.#rejectedCount++
          continue
        }
        all += own
        if (all > sizeMax) throw textsTooLarge(sizeMax)
        if (size + own > WHOLE_SIZE) {
          parts.push({ ...part, records: [] })
          size = 0
        }
        size += own
        parts[parts.length - 1].records.push(record)
      }
    }
    return parts
  }

  /** @param {Part} part */
  #join (part) {
    for (const text of join(part)) {
      this.#texts.push(text)
      this.#textsSize += text.length
    }
    // What they were made of is not needed any more.
    for (const record of part.records) record.bytes = undefined
    if (this.#parts?.length === 0) this.#sink = null
  }
}

/** The records of a request, with their resources and scopes, as they come out of a cutter. */
class Sink {
  /** @type {RangeGroup[]} */
  groups = []
  rejectedCount = 0
  /** Records, and the bytes of their texts. */
  count = 0
  size = 0
  #countMax
  #sizeMax
  /** The first group of the resource at hand. */
  #first = 0
  /** Of the scope at hand. @type {Range[]} */
  #records = []
  /** Those that are in the writer. @type {Range[]} */
  #written = []

  /** @param {RequestLimits} limits */
  constructor ({ countMax, recordSize }) {
    this.#countMax = countMax
    this.#sizeMax = recordSize
  }

  /** @param {number} level */
  open (level) {
    if (level === 1) this.#first = this.groups.length
    else this.#records = []
  }

  /** @param {number} level */
  reset (level) {
    if (level === 0) this.groups.length = 0
    else if (level === 1) this.groups.length = this.#first
    else this.#records = []
  }

  tooLarge () {
    this.#countOne()
    this.rejectedCount++
  }

  /** @param {() => void} write  a record's members */
  add (write) {
    this.#countOne()
    const begin = writer.at
    write()
    // Bytes that need escapes grow.
    if (writer.at - begin > this.#sizeMax) {
      writer.at = begin
      this.rejectedCount++
      return
    }
    const range = { bytes: undefined, begin, end: writer.at }
    this.#records.push(range)
    this.#written.push(range)
  }

  #countOne () {
    if (++this.count > this.#countMax) throw tooMany(this.#countMax)
  }

  /** Takes what was written out of the writer, which others use too. */
  keep () {
    if (this.#written.length === 0) return
    const bytes = Buffer.from(writer.bytes.subarray(0, writer.at))
    for (const range of this.#written) range.bytes = bytes
    this.#written = []
    this.size += bytes.length
  }

  /** @param {import('./log-record').Scope} scope */
  endScope (scope) {
    if (this.#records.length > 0) this.groups.push({ resource: emptyResource(), scope, records: this.#records })
  }

  /** @param {import('./log-record').Resource} resource */
  endResource (resource) {
    for (let index = this.#first; index < this.groups.length; index++) this.groups[index].resource = resource
  }
}

class JsonSink extends Sink {
  /** Of the bytes that came last. @type {{ bytes: Buffer, transcoder: JsonTranscoder } | null} */
  #last = null

  /** @type {(bytes: Buffer, from: number, to: number, parts: number) => void} */
  record (bytes, from, to, parts) {
    if (parts > PARTS_MAX) throw tooManyParts()
    if (this.#last?.bytes !== bytes) this.#last = { bytes, transcoder: new JsonTranscoder(bytes, writer, Infinity) }
    const { transcoder } = this.#last
    this.add(() => {
      if (transcoder.writeRecord(from, to)) return
      writer.members(JSON.stringify(json.readLogRecord(json.parseJson(bytes.toString('utf8', from, to)))))
    })
  }

  /** @type {(level: number, values: Record<string, Buffer>) => void} */
  close (level, values) {
    /** @type {Record<string, any>} */
    const given = {}
    for (const [name, bytes] of Object.entries(values)) given[name] = json.parseJson(bytes.toString())
    if (level === 1) this.endResource(json.readResource(given))
    else this.endScope(json.readScope(given))
  }
}

class ProtobufSink extends Sink {
  #resource = emptyResource()
  #scope = emptyScope()
  /** Of the bytes that came last. @type {{ bytes: Buffer, reader: ProtobufReader } | null} */
  #last = null

  /** @param {number} level */
  open (level) {
    super.open(level)
    if (level === 1) this.#resource = emptyResource()
    else this.#scope = emptyScope()
  }

  /** @param {number} level */
  close (level) {
    if (level === 1) this.endResource(this.#resource)
    else this.endScope(this.#scope)
  }

  /** @type {import('./protobuf-cutter').Sink['part']} */
  part (name, bytes, from, to, offset) {
    if (this.#last?.bytes !== bytes) this.#last = { bytes, reader: new ProtobufReader(bytes) }
    const { reader } = this.#last
    reader.offset = offset
    reader.at = from
    reader.messagesLeft = PARTS_MAX
    if (name === 'record') this.add(() => writeMembers(reader, to, writer))
    else if (name === 'resource') protobuf.readResource(reader, to, this.#resource)
    else if (name === 'scope') protobuf.readScope(reader, to, this.#scope)
    else {
      const text = bytes.toString('utf8', from, to) || undefined
      if (name === 'scope schema URL') this.#scope.schemaUrl = text
      else this.#resource.schemaUrl = text
    }
  }
}

/** @param {number} sizeMax */
function textsTooLarge (sizeMax) {
  return new LogError('ERR_RECORD_TOO_LARGE',
    `the records have more than ${sizeMax} bytes, each with its resource and scope; send smaller batches`)
}

exports.RequestReader = RequestReader
