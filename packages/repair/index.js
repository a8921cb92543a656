'use strict'
// Verifies a log, however damaged it is, and makes a new one of its good records.

const { repair } = require('./lib/repair')
const { verify } = require('./lib/verify')

/**
 * @typedef {import('./lib/verify').VerifyOptions} VerifyOptions
 * @typedef {import('./lib/verify').Report} Report
 * @typedef {import('./lib/repair').RepairOptions} RepairOptions
 * @typedef {import('./lib/repair').RepairReport} RepairReport
 */

exports.verify = verify
exports.repair = repair
