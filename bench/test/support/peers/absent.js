'use strict'
// A peer whose package is not installed.

module.exports = {
  name: 'absent',
  label: 'Absent',
  kind: 'database',
  packages: ['no-such-package'],
  queried: 'json',
  way: 'JSON.parse',
  open: async () => require('no-such-package')
}
