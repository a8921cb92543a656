'use strict'
// Verifies a log, however damaged it is, makes a new one of its good records, and accepts a text file as it is.

const { accept } = require('./lib/accept')
const { repair } = require('./lib/repair')
const { verify } = require('./lib/verify')

/**
 * @typedef {import('./lib/accept').AcceptOptions} AcceptOptions
 * @typedef {import('./lib/accept').Acceptance} Acceptance
 * @typedef {import('./lib/verify').VerifyOptions} VerifyOptions
 * @typedef {import('./lib/verify').Report} Report
 * @typedef {import('./lib/repair').RepairOptions} RepairOptions
 * @typedef {import('./lib/repair').RepairReport} RepairReport
 */

exports.accept = accept
exports.verify = verify
exports.repair = repair
