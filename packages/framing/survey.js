'use strict'
// Exports the parts that find the good chunks of a damaged log and judge the rest: state machines over bytes, without
// any I/O.

const { endOfPage } = require('./lib/layout')
const { DamageList } = require('./lib/survey/damage-list')
const { isZeroIn } = require('./lib/survey/find-header')
const { encodeHeadOf } = require('./lib/survey/chunk-state')
const { STEP, Survey, describeSource } = require('./lib/survey/survey')
const { SaltSearch, placeOf, rebuildHeader } = require('./lib/survey/rescue-header')

/**
 * @typedef {import('./lib/survey/chunk-state').ChunkState} ChunkState
 * @typedef {import('./lib/survey/damage-list').DamagedRange} DamagedRange
 * @typedef {import('./lib/survey/rescue-header').Page} Page
 * @typedef {import('./lib/survey/rescue-header').PagePlace} PagePlace
 * @typedef {import('./lib/survey/survey').Source} Source
 * @typedef {import('./lib/survey/chain').UnanchoredRange} UnanchoredRange
 * @typedef {import('./lib/survey/find-header').Window} Window
 */

exports.DamageList = DamageList
exports.endOfPage = endOfPage
exports.isZeroIn = isZeroIn
exports.encodeHeadOf = encodeHeadOf
exports.STEP = STEP
exports.Survey = Survey
exports.describeSource = describeSource
exports.SaltSearch = SaltSearch
exports.placeOf = placeOf
exports.rebuildHeader = rebuildHeader
