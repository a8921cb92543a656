'use strict'
// What there may be when actors begin to take a lock.

const { DEAD_PID, LOCK, recordOf } = require('./model')

const STALE = 'd'.repeat(16)
const CLAIM = 'e'.repeat(16)
const CLAIM_ON_CLAIM = 'f'.repeat(16)

/** A record that a dead one left. */
/** @param {string} nonce */
function left (nonce) {
  return JSON.stringify({ ...recordOf(DEAD_PID), nonce })
}

const stale = { [LOCK]: left(STALE) }
const staleClaim = { ...stale, [`${LOCK}.${STALE}`]: left(CLAIM), [`${LOCK}.${STALE}.${CLAIM}.new`]: left(CLAIM) }
const staleClaims = { ...staleClaim, [`${LOCK}.${STALE}.${CLAIM}`]: left(CLAIM_ON_CLAIM) }
const blank = { [LOCK]: '' }
const blankClaim = { [LOCK]: '\0\0\0', [`${LOCK}.${'0'.repeat(16)}`]: '' }

/**
 * By title. The long ones take minutes. Without links nobody dies: who is killed while it copies leaves a lock that has
 * to be removed by hand.
 * @type {Record<string, { quick: any[], long: any[], files?: Record<string, string> }>}
 */
exports.scenarios = {
  'no lock': {
    quick: [{ actors: 2, deaths: 2 }, { actors: 3 }, { actors: 2, rounds: 2 }],
    long: [{ actors: 3, deaths: 2 }, { actors: 2, rounds: 2, deaths: 2 }, { actors: 4 }]
  },
  'the lock of a dead one': {
    quick: [{ actors: 2, deaths: 1 }],
    long: [{ actors: 2, deaths: 2 }, { actors: 2, rounds: 2 }, { actors: 3 }, { actors: 3, deaths: 1 }],
    files: stale
  },
  'the lock of a dead one, claimed by a dead one': {
    quick: [{ actors: 2 }],
    long: [{ actors: 2, deaths: 2 }],
    files: staleClaim
  },
  'the same, and that claim claimed by a dead one': {
    quick: [{ actors: 2 }],
    long: [{ actors: 2, deaths: 1 }],
    files: staleClaims
  },
  'a lock that the power took the bytes of': {
    quick: [{ actors: 2 }],
    long: [{ actors: 2, deaths: 2 }],
    files: blank
  },
  'the same, claimed by one that the power took too': {
    quick: [{ actors: 2 }],
    long: [{ actors: 2, deaths: 1 }],
    files: blankClaim
  },
  'no links, no lock': {
    quick: [{ actors: 2, hasLinks: false }],
    long: [{ actors: 3, hasLinks: false }, { actors: 2, rounds: 2, hasLinks: false }]
  },
  'no links, the lock of a dead one': {
    quick: [{ actors: 2, hasLinks: false }],
    long: [{ actors: 2, rounds: 2, hasLinks: false }],
    files: stale
  }
}
