'use strict'
// Who does what in a folder. `interruptions` bounds how often a process stops although it could go on.

const ALL = ['open', 'append', 'roll', 'append', 'close']
const SHORT = ['open', 'append', 'close']
const MEMBER = ['member']
/** What others left. */
const CLOSED = ['open', 'append', 'roll', 'append', 'close']
const UNLOCKED = [...CLOSED, 'forget']
const KILLED = ['open', 'append', 'roll', 'append', 'die']

const short = (/** @type {any} */ at) => ({ script: SHORT, at })
const without = (/** @type {any} */ script) => ({ script, hasKernelLocks: false })

/**
 * By title. The long ones take minutes.
 * @type {Record<string, { quick: any[], long: any[] }>}
 */
exports.scenarios = {
  'a new folder': {
    quick: [
      { processes: [SHORT, SHORT], interruptions: 0, deaths: 1 },
      { processes: [ALL, SHORT], interruptions: 1, lockTimeout: 2000 }
    ],
    long: [
      { processes: [ALL, ALL], interruptions: 2, deaths: 1 },
      { processes: [SHORT, SHORT], interruptions: 1, deaths: 2, lockTimeout: 2000 },
      { processes: [SHORT, SHORT, SHORT], interruptions: 1, deaths: 1 }
    ]
  },
  'a log whose writer was killed': {
    quick: [
      { before: KILLED, processes: [SHORT, SHORT], interruptions: 0, deaths: 1 }
    ],
    long: [
      { before: KILLED, processes: [ALL, ALL], interruptions: 1, deaths: 1 },
      { before: KILLED, processes: [SHORT, SHORT, SHORT], interruptions: 1, deaths: 1 }
    ]
  },
  'no locks of the kernel': {
    quick: [
      { processes: [ALL, SHORT], interruptions: 1, hasKernelLocks: false },
      { before: KILLED, processes: [SHORT, SHORT], interruptions: 0, deaths: 1, hasKernelLocks: false }
    ],
    long: [
      { processes: [ALL, ALL], interruptions: 2, deaths: 1, hasKernelLocks: false },
      { before: KILLED, processes: [SHORT, SHORT, SHORT], interruptions: 1, deaths: 1, hasKernelLocks: false },
      { before: CLOSED, processes: [ALL, MEMBER], interruptions: 2, deaths: 1, hasKernelLocks: false }
    ]
  },
  'locks of the kernel for some': {
    quick: [
      { processes: [SHORT, without(SHORT)], interruptions: 1 }
    ],
    long: [
      { processes: [ALL, without(ALL)], interruptions: 2, deaths: 1 },
      { before: KILLED, processes: [SHORT, SHORT, without(SHORT)], interruptions: 1, deaths: 1 }
    ]
  },
  'one file of the log, opened alone': {
    quick: [
      { before: CLOSED, processes: [ALL, MEMBER], interruptions: 1 },
      { before: KILLED, processes: [MEMBER, MEMBER], interruptions: 0, deaths: 1 }
    ],
    long: [
      { before: CLOSED, processes: [ALL, MEMBER], interruptions: 2, deaths: 1 },
      { before: KILLED, processes: [SHORT, MEMBER, MEMBER], interruptions: 0, deaths: 1, lockTimeout: 2000 }
    ]
  },
  'a folder that has no lock file yet': {
    quick: [
      { before: UNLOCKED, processes: [MEMBER, MEMBER], interruptions: 2 },
      { before: UNLOCKED, processes: [SHORT, MEMBER], interruptions: 1 }
    ],
    long: [
      { before: UNLOCKED, processes: [ALL, MEMBER], interruptions: 2, deaths: 1 },
      { before: UNLOCKED, processes: [SHORT, MEMBER, MEMBER], interruptions: 2 },
      { before: UNLOCKED, processes: [SHORT, MEMBER, MEMBER], interruptions: 1, hasKernelLocks: false }
    ]
  },
  'a folder that is moved': {
    quick: [
      { before: CLOSED, processes: [SHORT, ['move'], SHORT], interruptions: 0 },
      { before: CLOSED, processes: [SHORT, ['move'], short('/moved')], interruptions: 0 }
    ],
    long: [
      { before: CLOSED, processes: [ALL, ['move'], SHORT], interruptions: 1 },
      { before: KILLED, processes: [SHORT, ['move'], short('/moved'), MEMBER], interruptions: 0 },
      { before: CLOSED, processes: [ALL, ['move'], short('/moved')], interruptions: 1, hasKernelLocks: false }
    ]
  }
}
