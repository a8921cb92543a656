'use strict'
// Needs a package that nobody has.

const { createFixedRow } = require('../fixed-row')

module.exports = createFixedRow({ name: 'absent', needs: { 'no-such-package': () => require('no-such-package') } })
