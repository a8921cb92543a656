'use strict'
// Holds: what somebody still needs, and retention therefore keeps. A hold is the name of an empty file.

const path = require('node:path')
const { misuse, reasonOf } = require('@millrace/errors')
const { promisesOf } = require('@millrace/flow')
const { makeEmpty, remove } = require('./files')
const { checkHoldName, holdName } = require('./names')
const { list } = require('./opening')

/**
 * @typedef {object} Hold
 * @property {string} name  What it was called.
 * @property {number} seq  The records from this seq on are needed.
 * @property {{ from: number, to: number } | null} cut  Null, or the seqs of which records were dropped all the same,
 *   `to` exclusive. Chosen records among them may still be there.
 */

class Holds {
  #core

  /** @param {import('./core').Core} core */
  constructor (core) {
    this.#core = core
  }

  /** @returns {Promise<Hold[]>} */
  async list () {
    const { folder, options, segments: { wholeFrom } } = this.#core
    const { holds } = await list(folder, options)
    return holds.map(({ name, seq }) => ({ name, seq, cut: seq < wholeFrom ? { from: seq, to: wholeFrom } : null }))
  }

  /**
   * The hold is the name of an empty file, so it is stored with one rename.
   * @type {(name: unknown, seq: unknown) => Promise<void>}
   */
  async set (name, seq) {
    checkHoldName('hold', name)
    if (!Number.isSafeInteger(seq)) throw misuse(`hold: expected the seq of the first record that is needed, got ${reasonOf(seq)}`)
    // Whoever has seen nothing yet needs what is kept.
    const needed = Number(seq) > 0 ? Number(seq) : this.#core.segments.first.base
    return this.#core.turns.run(async () => {
      const { storage } = this.#core.options
      const [before, ...others] = await this.#holdFiles(name)
      const file = path.join(this.#core.folder, holdName(name, needed))
      if (before === undefined) await makeEmpty(storage, file)
      else if (before !== file) await promisesOf(storage).rename(before, file)
      for (const other of others) if (other !== file) await promisesOf(storage).unlink(other)
      await promisesOf(storage).syncFolder(this.#core.folder)
    })
  }

  /** @param {unknown} name */
  async release (name) {
    checkHoldName('release', name)
    return this.#core.turns.run(async () => {
      const { folder, options: { storage } } = this.#core
      const files = await this.#holdFiles(name)
      for (const file of files) await remove(storage, file)
      if (files.length > 0) await promisesOf(storage).syncFolder(folder)
    })
  }

  /** The files of a hold: at most one, unless somebody made more. @param {string} name @returns {Promise<string[]>} */
  async #holdFiles (name) {
    const { folder, options } = this.#core
    const { holds } = await list(folder, options)
    return holds.filter((hold) => hold.name === name).map(({ file }) => path.join(folder, file))
  }
}

exports.Holds = Holds
