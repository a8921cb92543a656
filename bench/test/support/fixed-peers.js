'use strict'
// The peers of the fixed rows, as parts of a module.

exports.parts = require('./fixed-rows').peers
