'use strict'
// Starts the child process of one case and brings back its answer, or says which case died and of what.

const path = require('node:path')
const { fileOf } = require('./parts')
const { ChildError, runChild } = require('./run-child')

const CHILD = path.join(__dirname, 'child.js')

/** @typedef {import('./shapes').Case} Case */
/** @typedef {import('./shapes').Answer} Answer */

/** A child that failed: the message names stack, layer and block size, and then gives the child's own words. */
class MeasureError extends Error {}

/**
 * @param {Case} one
 * @param {{ path: string, query: string }} input
 * @returns {Promise<Answer>}
 */
async function measure (one, { path, query }) {
  const order = {
    stackFile: fileOf(one.stack),
    layerFile: fileOf(one.layer),
    path,
    blockSize: one.blockSize,
    query
  }
  try {
    return await runChild(CHILD, order)
  } catch (err) {
    throw err instanceof ChildError ? new MeasureError(`${describeCase(one)}: ${err.message}`) : err
  }
}

/** @param {Case} one */
function describeCase ({ stack, layer, blockSize }) {
  return `stack ${stack.name}, layer ${layer.name}, ${blockSize / 1024} KiB blocks`
}

exports.MeasureError = MeasureError
exports.measure = measure
exports.describeCase = describeCase
