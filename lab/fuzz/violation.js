'use strict'
// What the code under test did with hostile bytes that it must not do.

/** What each kind means is printed with the figures. */
const KINDS = Object.freeze({
  'no code': 'errors without a code of the table',
  thrown: 'exceptions where nobody can catch them',
  'no answer': 'calls that never answer',
  'answered twice': 'calls that answer twice',
  'two answers': 'answers that depend on what is around the bytes',
  'wrong answer': 'answers that contradict each other or the bytes',
  wrote: 'writes to a file opened for reading',
  steps: 'cases with more steps than their bytes allow',
  transfers: 'cases with more reads and writes than their bytes allow',
  stuck: 'cases that never end',
  crashed: 'cases that end their thread'
})

class Violation extends Error {
  /**
   * @param {string} kind  one of KINDS
   * @param {string} message
   */
  constructor (kind, message) {
    super(message)
    this.kind = kind
  }

  /** What failures with the same cause have in common, nearly always. */
  get signature () {
    const [head, where = ''] = this.message.split('\n    at ')
    return `${this.kind}: ${head.slice(0, 160).replace(/\d+/g, '#')} ${where.replace(/^.*[\\/]/, '')}`
  }
}

exports.KINDS = KINDS
exports.Violation = Violation
