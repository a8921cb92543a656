'use strict'
// Goes through the records of a file of blocks, a block at a time.

const { LogError } = require('@millrace/errors')
const { Losses } = require('./losses')

/**
 * @typedef {import('./block-walk').Found} Found
 * @typedef {import('./block-walk').Flaw} Flaw
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 */

/**
 * Some records in order. There may be none, and still more to come.
 * @typedef {object} Batch
 * @property {number[]} seqs
 * @property {Buffer[]} records  the receiver's own
 * @property {boolean} isEnd  nothing comes after these
 */

/**
 * A position in a source, and what was met on the way there.
 * @typedef {object} Cursor
 * @property {number} position  in the file: how much of it is done
 * @property {number} total  the position at the end
 * @property {number | null} deleted  how many records are marked as deleted; null where the format does not tell
 * @property {Losses} lost
 * @property {{ offset: number, size: number } | null} torn  the end of a last write that was cut off
 * @property {(cb: (err: Error | null, batch?: Batch) => void) => void} next
 * @property {(cb: () => void) => void} close
 */

/** @implements {Cursor} */
class BlockCursor {
  /**
   * @param {BlockFile} blocks  open
   * @param {object} format
   * @param {import('./formats').WalkBlock} format.walkBlock
   * @param {number} format.blockSize  in bytes
   * @param {number} format.size  how much of the file to read
   * @param {boolean} format.skipsDamage
   */
  constructor (blocks, { walkBlock, blockSize, size, skipsDamage }) {
    this._blocks = blocks
    this._walkBlock = walkBlock
    this._blockSize = blockSize
    this.total = size
    this._skipsDamage = skipsDamage
    /** @type {Error | null} */
    this._error = null
    this.position = 0
    this.deleted = 0
    this.lost = new Losses()
    /** @type {Cursor['torn']} */
    this.torn = null
  }

  /**
   * Gives a block's records. Damage comes after the records before it: as an error, or counted.
   * @param {(err: Error | null, batch?: Batch) => void} cb
   */
  next (cb) {
    if (this._error) return cb(this._error)
    if (this.position >= this.total) return cb(null, { seqs: [], records: [], isEnd: true })
    // A buffer of its own for each block: the records are parts of it, and need no copies.
    const block = Buffer.allocUnsafeSlow(Math.min(this._blockSize, this.total - this.position))
    this._blocks.readInto(block, this.position, (err) => {
      if (err) return cb(err)
      cb(null, this._take(block))
    })
  }

  /** @param {() => void} cb */
  close (cb) {
    cb()
  }

  /**
   * @param {Buffer} block
   * @returns {Batch}
   */
  _take (block) {
    const start = this.position
    const { records, deletedCount, flaw, rest, torn } = this._walkBlock(block, this._blockSize)
    this.position += block.length
    this.deleted += deletedCount
    if (flaw) this._meet(flaw, start)
    if (torn) this.torn = { offset: start + torn.start, size: torn.end - torn.start }
    const found = flaw && !this._error ? [...records, ...rest] : records
    return {
      seqs: found.map(({ seq }) => start + seq),
      records: found.map((record) => block.subarray(record.start, record.end)),
      isEnd: false
    }
  }

  /**
   * @param {Flaw} flaw
   * @param {number} blockStart
   */
  _meet ({ what, start, end }, blockStart) {
    const offset = blockStart + start
    if (this._skipsDamage) return this.lost.add(what, offset, end - start)
    const { path } = this._blocks
    this._error = new LogError('ERR_LOG_CORRUPT', `${path} is damaged from ${offset} to ${blockStart + end}: ${what}. ` +
      'Keep a copy of it; onCorrupt: \'skip\' leaves these bytes out and says so', { offset, path })
  }
}

exports.BlockCursor = BlockCursor
