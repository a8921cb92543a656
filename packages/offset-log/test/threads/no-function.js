'use strict'
// A module that is no task.

exports.onRecords = () => {}
