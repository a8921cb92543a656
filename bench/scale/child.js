'use strict'
// Grows a log, opens it, or scans it, in a process of its own.
// Usage: node child.js '{ "task", "file", ... }'; prints one line of JSON.

const { answerOrder } = require('../lib/answer-order')
const { grow } = require('./lib/grow')
const { open, rest, scan } = require('./lib/read')

/** @type {Record<string, (order: any) => unknown>} */
const tasks = { grow, open, rest, scan }

answerOrder(async (/** @type {{ task: string }} */ { task, ...order }) => tasks[task](order))
