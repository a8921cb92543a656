'use strict'
// What a log knew of its stream when it asked a question, and what the answer then means. While an answer is under way,
// appends, deletions and purges go on. So it is never compared with what is known when it comes.

const { LogError } = require('@millrace/errors')

/**
 * @typedef {import('@nats-io/jetstream').StreamInfo} StreamInfo
 * @typedef {{ stream: string, seq: number, duplicate?: boolean }} Ack
 */

class Known {
  #options
  #created
  /** The highest seq that any record was known to have. */
  #lastSeq

  /** @param {import('./core').Core} core  at the time of the question */
  constructor ({ options, opened, lastSeq }) {
    this.#options = options
    this.#created = opened.created
    this.#lastSeq = lastSeq
  }

  /**
   * Whether the seq was given to a record before the question: who lacks it has deleted or lost it, or is behind.
   * @param {number} seq
   */
  has (seq) {
    return seq <= this.#lastSeq
  }

  /**
   * Whether the stream has fewer records than were known. Then it was restored from an older copy; or a leader has
   * answered that was replaced, and does not know it yet.
   * @param {StreamInfo} info
   */
  isAhead ({ state }) {
    return state.last_seq < this.#lastSeq
  }

  /** Throws if the stream is not the one that was opened. @type {(call: string, info: StreamInfo) => void} */
  checkSame (call, { created, config: { subjects } }) {
    const { subject, place } = this.#options
    if (String(created) !== this.#created) throw replaced(call, place)
    if (subjects?.length !== 1 || subjects[0] !== subject) throw otherSubjects(call, place, subjects)
  }

  /** Throws if another stream has taken the record. @param {Ack} ack @returns {number} its seq */
  checkAck ({ stream, seq, duplicate }) {
    const { subject, place, stream: name } = this.#options
    if (stream !== name) {
      throw new LogError('ERR_LOG_REPLACED', `append: the subject ${subject} leads to the stream ${stream} now, not to ${place}`, { path: place })
    }
    // Seqs only rise, so the stream was made anew.
    if (!duplicate && this.has(seq)) throw replaced('append', place)
    return seq
  }
}

/** @type {(call: string, place: string) => LogError} */
function replaced (call, place) {
  return new LogError('ERR_LOG_REPLACED', `${call}: ${place} is not the stream that was opened: it was made anew, or restored from an older ` +
    'copy. Open the log again, and build views again that saw it', { path: place })
}

/** @type {(call: string, place: string, subjects: string[] | undefined) => LogError} */
function otherSubjects (call, place, subjects) {
  return new LogError('ERR_LOG_REPLACED', `${call}: ${place} takes other subjects now: ${(subjects ?? []).join(', ')}. Give the log its subject back, ` +
    'then open it again', { path: place })
}

exports.Known = Known
exports.replaced = replaced
