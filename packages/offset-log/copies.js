'use strict'
// What copies of logs are made with: for @millrace/repair, which goes with this version. No promise to anybody else.

const { detectFraming, readBytes } = require('./lib/recover/identify')
const { TailCopy } = require('./lib/recover/tail-copy')
const { acceptLines } = require('./lib/recover/accept-lines')
const { lockTarget, writeAside } = require('./lib/copy/aside')
const { isShorter, surveyFile } = require('./lib/copy/survey-file')
const { surveyLines } = require('./lib/copy/survey-lines')

/**
 * @typedef {import('./lib/copy/aside').Output} Output
 * @typedef {import('./lib/recover/tail-copy').Unrestored} Unrestored
 */

exports.detectFraming = detectFraming
exports.TailCopy = TailCopy
exports.lockTarget = lockTarget
exports.writeAside = writeAside
exports.isShorter = isShorter
exports.readHeadBytes = readBytes
exports.surveyFile = surveyFile
exports.surveyLines = surveyLines
exports.acceptLines = acceptLines
