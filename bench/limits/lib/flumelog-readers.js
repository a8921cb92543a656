'use strict'
// The log before this one, read as its documentation shows.

const reference = require('../../stacks/reference')
const { BLOCK_SIZE } = require('./scan-log')

/**
 * @param {string} path
 */
exports.openFlumelogItems = (path) => reference.primitives.records(path, { blockSize: BLOCK_SIZE, query: '' })

/**
 * @param {string} path
 * @param {string} root
 */
exports.openFlumelogBipf = (path, root) => reference.primitives.matches(path, { blockSize: BLOCK_SIZE, query: root })
