'use strict'
// Finds the stacks and the layers: each is one file in its folder, and nothing else has to know of it.

const path = require('node:path')
const { loadFolder, pickParts, pickWithStrangers } = require('./parts')

/** @typedef {import('./shapes').Stack} Stack */
/** @typedef {import('./shapes').Layer} Layer */

const STACKS_FOLDER = path.join(__dirname, '..', 'stacks')
const LAYERS_FOLDER = path.join(__dirname, '..', 'layers')

/** @returns {Layer[]}  in the order of the table */
function listLayers () {
  return loadFolder(LAYERS_FOLDER)
}

/** @returns {Stack[]}  the one that the others are compared with first */
function listStacks () {
  return loadFolder(STACKS_FOLDER)
}

/**
 * @param {string[]} names  none means all
 * @returns {Layer[]}
 */
function pickLayers (names) {
  return pickParts('--layers', listLayers(), names)
}

/**
 * @param {string[]} names  of the folder's stacks, or paths of modules that export one; none means the folder's
 * @returns {Stack[]}
 */
function pickStacks (names) {
  return pickWithStrangers('--stacks', listStacks(), names, (part) => typeof part.primitives === 'object')
}

exports.listLayers = listLayers
exports.listStacks = listStacks
exports.pickLayers = pickLayers
exports.pickStacks = pickStacks
