'use strict'
// The shapes of a row and of what becomes of it. Types only: there is nothing to run here.

/**
 * One side of a row, ready in its process: what is timed, again and again, and what it comes to.
 * @typedef {object} Runner
 * @property {() => number | Promise<number>} sample  does the work once; gives its time, or its bytes
 * @property {() => Answer | Promise<Answer>} finish  lets go of everything; says what was done
 */

/**
 * What was done, in a few figures: where both sides, or `expected`, have one of a name, they must be equal.
 * @typedef {Record<string, number | string>} Answer
 */

/**
 * @typedef {object} Side
 * @property {(setting: any) => Runner | Promise<Runner>} open  in a process of its own
 * @property {number} [samples]  instead of the row's, where one of the two is slow
 */

/**
 * The least that any way to do it must do, measured in the same rounds: if that misses the goal too, the goal is out of
 * reach on the machine.
 * @typedef {Side & { what: string }} Bound
 */

/** @typedef {'ours' | 'peer' | 'bound'} SideName */

/**
 * Each is one file in rows/, and its name there is of no consequence.
 * @typedef {object} Row
 * @property {string} name  for `--rows` and the CSV file
 * @property {number} order
 * @property {string} what  one line for the table, at most 42 characters: what is compared with what
 * @property {'ms' | 'bytes'} unit  of both sides
 * @property {number} goal  the most that ours may be, as a multiple of the peer
 * @property {boolean} [isSpeed]  written the other way round: so many times as fast as the peer
 * @property {string} [drawn]  its label in the chart, for rows whose peer is the bare loop
 * @property {{ row: string, label: string }} [drawnBeside]  names a row on the same file whose bar the peer of this one
 *   is drawn with
 * @property {boolean} [isShare]  the multiple is a small one, written in percent
 * @property {number} samples  in each process, after the first one, which is kept apart
 * @property {boolean} [isExact]  gives the same every time, so that it runs once
 * @property {Record<string, string>} [env]  of its processes
 * @property {Record<string, () => void>} [needs]  optional packages, or whatever else, by name; each call throws where
 *   that is of no use
 * @property {(context: Context) => any} prepare  makes what is read; gives what both sides are opened with, as JSON,
 *   and in its `expected`, if it has one, an answer that they must agree with; or `absent`, what the machine has too
 *   little of for it to be run
 * @property {Side} ours
 * @property {Side} peer
 * @property {Bound} [bound]
 */

/**
 * What a row is prepared with.
 * @typedef {object} Context
 * @property {string} folder  of the row's own, on the disk where the logs are; gone afterwards
 * @property {number} records  how many the log of the bench has: what a row makes itself is no larger
 * @property {(log: 'json' | 'binary', framing: string, query?: import('./queries').QueryName) => Promise<FoundLog>}
 *   findLog  of the bench, in the page cache
 */

/**
 * @typedef {object} FoundLog
 * @property {string} path
 * @property {string} root  what one record in a thousand has as `value.content.root`
 * @property {import('@millrace/where').Where} [where]  the query that was asked for
 * @property {Answer} expected  what a scan of all its records comes to, as read from the log it was made from; with a
 *   query, what is found by parsing all of them
 */

/**
 * What one process of one side came to.
 * @typedef {object} Outcome
 * @property {number} first  the first sample: nothing is compiled yet, no cache is filled
 * @property {number} value  the median of the samples after it, or the first, where it is the only one
 * @property {Answer} answer
 */

/**
 * @typedef {{ ours: Outcome, peer: Outcome, bound?: Outcome }} Round
 */

/**
 * @typedef {object} Result
 * @property {Row} row
 * @property {string | undefined} absent  the package, or whatever else was missing, that kept it from being run
 * @property {Round[]} rounds
 */

module.exports = {}
