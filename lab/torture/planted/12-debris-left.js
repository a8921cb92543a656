'use strict'
// Planted: what a failed append has written stays after the end of the log.

exports.why = 'after a clean close the log has to be recovered'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/block-file/lib/writer.js',
  find: 'truncate(handle, size, (undoErr) => {',
  replace: 'nextTick((undoErr) => {'
}, {
  file: 'packages/block-file/lib/writer.js',
  find: '      this.#now.truncateSync(size)\n    } catch {',
  replace: '    } catch {'
}]
