'use strict'
// The rows, in the groups of three other projects' benchmarks.

/** @type {import('../../engine/row').Group[]} */
exports.groups = [require('./solidlog').group, require('./logsystem').group, require('./fapilog').group]
exports.parts = exports.groups.flatMap(({ rows }) => rows)
