'use strict'
// Lines that no others follow are written after a moment, one write at a time: a reader that is slower than the log
// must not fill the memory.

const { clearTimeout, setTimeout } = require('node:timers')

const FLUSH_MS = 20

class LateFlush {
  #write
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  #isWriting = false

  /** @param {() => Promise<boolean>} write  says whether more lines have come by then; never rejects */
  constructor (write) {
    this.#write = write
  }

  begin () {
    this.#timer ??= setTimeout(async () => {
      this.#timer = undefined
      // What comes meanwhile waits.
      if (this.#isWriting) return
      this.#isWriting = true
      const hasMore = await this.#write()
      this.#isWriting = false
      if (hasMore) this.begin()
    }, FLUSH_MS)
  }

  /** Everything is written now. */
  cancel () {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}

exports.LateFlush = LateFlush
