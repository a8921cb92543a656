// @ts-nocheck
'use strict'
// The life of a process of the box: what it tells, how it is stopped, and that no step of it takes for ever.

const { createRandom } = require('@millrace/testkit')

const TICK_MS = 250
/** A step may take so many ticks. They are counted, so a process that is stopped has time. */
const TICKS_MAX = 480

/** What a reader of lines is told then. */
const CUT = ['ERR_LOG_REPLACED', 'ERR_SHIP_SOURCE_CHANGED']

class Life {
  isStopping = false
  #steps = new Set()

  constructor ({ role, seed, ...given }) {
    Object.assign(this, given)
    this.role = role
    this.random = createRandom(seed)
    setInterval(() => this.#tick(), TICK_MS).unref()
    process.on('message', (message) => {
      if (message.stop) this.isStopping = true
      else this.onMessage?.(message)
    })
  }

  /** Waits until it is in the pipe: so the parent hears it, whenever this process is killed. */
  tell (message) {
    return new Promise((resolve) => process.send(message, () => resolve()))
  }

  fault (text) {
    return this.tell({ fault: `${this.role}: ${text}` })
  }

  async step (name, promise) {
    const step = { name, ticks: 0 }
    this.#steps.add(step)
    try {
      return await promise
    } catch (err) {
      err.step ??= name
      throw err
    } finally {
      this.#steps.delete(step)
    }
  }

  /** A writer that was killed has left half a batch of lines, which a reader has seen, and the next writer has cut. */
  isCut (err) {
    return CUT.includes(err.code) && this.setting.kind.includes('line')
  }

  #tick () {
    for (const step of this.#steps) {
      if (++step.ticks !== TICKS_MAX) continue
      const names = Array.from(this.#steps, ({ name }) => name)
      this.fault(`hangs in ${names.join(', ')}; active: ${process.getActiveResourcesInfo().join(', ')}`).then(() => process.exit(4))
    }
  }
}

exports.Life = Life
