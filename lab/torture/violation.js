'use strict'
// What a log did that it had promised not to do.

// The first five are the ones that figures name.
const KINDS = ['promised lost', 'never appended', 'half a commit', 'refused', 'seq given twice', 'wrong answer',
  'deleted bytes left', 'left over', 'not poisoned', 'no answer', 'thrown', 'wrong count']

class Violation extends Error {
  /**
   * @param {string} kind  one of KINDS
   * @param {string} message
   */
  constructor (kind, message) {
    super(message)
    this.kind = kind
  }
}

exports.KINDS = KINDS
exports.Violation = Violation
