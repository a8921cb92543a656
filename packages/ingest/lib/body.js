'use strict'
// Receives the body of a request: collects what was sent, unpacks it, and hands it to a reader step by step. Sizes are
// bounded while bytes arrive, each step waits for room in a turn of the event loop, and what the request holds counts
// against what all requests may hold.

const zlib = require('node:zlib')
const { checkCharset, isGzip } = require('./content')
const { Problem, tooLarge, unauthorized } = require('./problem')

/** A reader gets no more than this at once. */
const STEP_SIZE = 64 * 1024

/**
 * @typedef {import('./memory-budget').HeldMemory} HeldMemory
 * @typedef {import('node:http').IncomingHttpHeaders} Headers
 * @typedef {import('node:stream').Readable} Readable
 */

/**
 * What makes something of a body. It is asked to work only for as many bytes as there is room for.
 * @template T
 * @typedef {object} Reader
 * @property {number} nextSize  bytes that the next step works on; 0: it needs more of the body
 * @property {number} heldSize  bytes that it holds
 * @property {(chunk: Buffer) => void} write  takes a part of the body, once `nextSize` is 0
 * @property {() => void} step  throws a Problem
 * @property {() => void} end  there is no more of the body; steps may follow. Once
 * @property {() => T} finish  throws a Problem
 */

/**
 * @template T
 * @typedef {(err: Error | null, result?: T, memory?: HeldMemory) => void} Done  once, whatever the stream does
 *   afterwards. `memory`: what the result holds, to be released
 */

/**
 * @typedef {object} Around  a part of the context
 * @property {{ limits: { bodySize: number, inflatedSize: number } }} options
 * @property {import('./event-loop-turns').EventLoopTurns} turns
 * @property {import('./memory-budget').MemoryBudget} budget
 * @property {import('./keys').Keys} keys
 */

/** @template T */
class Intake {
  #stream
  #reader
  #limits
  #turns
  #memory
  #done
  /** Of the bytes as they are unpacked. @type {Readable} */
  #source
  /** @type {zlib.Gunzip | null} */
  #gunzip = null
  /** @type {import('node:crypto').Hash | null} */
  #hash
  /** @type {Buffer[]} */
  #chunks = []
  #chunksSize = 0
  #sentSize = 0
  #size = 0
  #isWaiting = false
  /** All of the body has come, and the reader knows. */
  #isEnded = false
  #isTold = false
  #isOver = false

  /**
   * @param {Headers} headers
   * @param {Readable} stream  of bytes; of text if the application around has put that in between
   * @param {Reader<T>} reader
   * @param {Around} context
   * @param {Done<T>} done
   * @param {import('node:crypto').Hash | null} hash  of the body
   */
  constructor (headers, stream, reader, { options, turns, budget }, done, hash) {
    this.#stream = stream
    this.#source = stream
    this.#reader = reader
    this.#limits = options.limits
    this.#turns = turns
    this.#memory = budget.open()
    this.#done = done
    this.#hash = hash
    try {
      checkCharset(headers['content-type'])
      const isPacked = isGzip(headers['content-encoding'])
      if (Number(headers['content-length']) > this.#limits.bodySize) throw this.#bodyTooLarge()
      this.#listen(isPacked)
    } catch (err) {
      this.#end(/** @type {Error} */ (err))
    }
  }

  /** @param {boolean} isPacked */
  #listen (isPacked) {
    const stream = this.#stream
    const fail = (/** @type {Error} */ cause) => this.#end(new Problem(400, 'the body did not arrive as a whole', { cause }))
    if (isPacked) {
      const gunzip = this.#gunzip = zlib.createGunzip({ chunkSize: STEP_SIZE })
      this.#source = gunzip
      gunzip.on('data', this.#take)
      gunzip.on('end', this.#endBody)
      gunzip.on('error', (err) => this.#end(new Problem(400, `the body is no gzip: ${err.message}`)))
      stream.on('data', this.#count)
      stream.pipe(gunzip)
    } else {
      stream.on('data', (data) => {
        if (this.#count(data)) this.#take(data)
      })
      stream.on('end', this.#endBody)
    }
    stream.on('error', fail)
    if (stream.destroyed && !stream.readableEnded) fail(new Error('it ended before it was read'))
  }

  /** Of what is sent. @param {Buffer | string} data */
  #count = (data) => {
    this.#sentSize += data.length
    if (this.#sentSize > this.#limits.bodySize) this.#end(this.#bodyTooLarge())
    return !this.#isOver
  }

  #bodyTooLarge () {
    return tooLarge(`the body is larger than ${this.#limits.bodySize} bytes`)
  }

  /** @param {Buffer | string} data */
  #take = (data) => {
    if (this.#isOver) return
    const chunk = typeof data === 'string' ? Buffer.from(data) : data
    const { inflatedSize } = this.#limits
    this.#size += chunk.length
    if (this.#size > inflatedSize) {
      return this.#end(tooLarge(`the body is larger than ${inflatedSize} bytes when it is unpacked`))
    }
    this.#hash?.update(chunk)
    this.#chunks.push(chunk)
    this.#chunksSize += chunk.length
    this.#work()
  }

  #endBody = () => {
    this.#isEnded = true
    this.#work()
  }

  #work () {
    if (this.#isWaiting || this.#isOver) return
    try {
      while (this.#hasWork()) {
        const { nextSize } = this.#reader
        if (!this.#turns.take(nextSize)) return this.#wait(nextSize)
        this.#step()
      }
      this.#memory.set(this.#reader.heldSize + this.#chunksSize)
      if (this.#isEnded) this.#end(null, this.#reader.finish())
    } catch (err) {
      this.#end(/** @type {Error} */ (err))
    }
  }

  /** Gives the reader what it needs. Whether it has a step to do then. */
  #hasWork () {
    const reader = this.#reader
    if (reader.nextSize === 0 && this.#chunks.length > 0) {
      const [chunk] = this.#chunks
      const part = chunk.length > STEP_SIZE ? chunk.subarray(0, STEP_SIZE) : chunk
      if (part === chunk) this.#chunks.shift()
      else this.#chunks[0] = chunk.subarray(STEP_SIZE)
      this.#chunksSize -= part.length
      reader.write(part)
    } else if (reader.nextSize === 0 && this.#isEnded && !this.#isTold) {
      this.#isTold = true
      reader.end()
    }
    return reader.nextSize > 0
  }

  #step () {
    this.#reader.step()
    this.#memory.set(this.#reader.heldSize + this.#chunksSize)
  }

  /** @param {number} size */
  #wait (size) {
    this.#isWaiting = true
    // No more is to arrive meanwhile.
    this.#source.pause()
    this.#turns.wait(size, () => {
      this.#isWaiting = false
      if (this.#isOver) return
      try {
        this.#step()
      } catch (err) {
        return this.#end(/** @type {Error} */ (err))
      }
      this.#work()
      if (!this.#isWaiting) this.#source.resume()
    })
  }

  /** @type {(err: Error | null, result?: T) => void} */
  #end (err, result) {
    // The stream may fail later, too.
    if (this.#isOver) return
    this.#isOver = true
    if (err === null) return this.#done(null, result, this.#memory)
    this.#memory.release()
    this.#chunks = []
    if (this.#gunzip !== null) {
      this.#stream.unpipe(this.#gunzip)
      this.#gunzip.destroy()
    }
    // Otherwise the connection would wait for what nobody reads.
    this.#stream.resume()
    this.#done(err)
  }
}

/**
 * Refuses a body as a whole if the key of its request was revoked while it came.
 * @template T
 * @param {{ headers: Headers, apiKey: import('./keys').ActiveKey | null }} request
 * @param {Readable} stream
 * @param {Reader<T>} reader
 * @param {Around} context
 * @param {Done<T>} done
 * @param {import('node:crypto').Hash | null} [hash]  of the body, unpacked
 */
function receiveBody ({ headers, apiKey }, stream, reader, context, done, hash = null) {
  // eslint-disable-next-line no-new
  new Intake(headers, stream, reader, context, (err, result, memory) => {
    if (err || context.keys.isValid(apiKey)) return done(err, result, memory)
    memory?.release()
    done(unauthorized('this API key is not valid any more; nothing was stored'))
  }, hash)
}

/**
 * @param {any} request
 * @param {Around} context
 * @param {string} detail  of the refusal
 * @param {(err: Error | null) => void} done
 */
function expectNoBody (request, context, detail, done) {
  // Most requests without a body say so.
  if (!request.body) return done(null)
  const refuse = () => { throw new Problem(400, detail) }
  const reader = { nextSize: 0, heldSize: 0, write: refuse, step () {}, end () {}, finish () {} }
  receiveBody(request, request.body, reader, context, (err, _, memory) => {
    memory?.release()
    done(err)
  })
}

exports.expectNoBody = expectNoBody
exports.receiveBody = receiveBody
exports.STEP_SIZE = STEP_SIZE
