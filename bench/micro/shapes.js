'use strict'
// The shapes of the microbenchmarks. Types only.

/**
 * One function, called often enough that a clock can see it.
 * @typedef {object} Task
 * @property {string} name
 * @property {number} count  how often a run calls the function: what the time is divided by
 * @property {number} [bytes]  that a run goes through, where that is what matters
 * @property {() => unknown} run  gives something of what it worked out, so that it cannot be left out
 */

/**
 * What there is to work on: the bench's messages.
 * @typedef {object} Input
 * @property {any[]} messages
 * @property {import('@millrace/where').Where} where  that few of them fulfil
 */

/**
 * The functions of a package. Each is one file in suites/, found by being there.
 * @typedef {object} Suite
 * @property {string} name
 * @property {number} order
 * @property {(input: Input) => Task[]} createTasks
 */

/**
 * @typedef {object} Figure
 * @property {string} suite
 * @property {string} name
 * @property {number} ns  of one call, median
 * @property {number} nsLate  three quarters of the runs were faster
 * @property {number | null} mbPerSecond
 * @property {number} samples
 */

module.exports = {}
