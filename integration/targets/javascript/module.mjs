// SPDX-License-Identifier: Apache-2.0
// An ES module, with names at its top level that make its scope a module's.
import { createRequire } from 'module';
const stop = createRequire(import.meta.url)('./stop.js');

export const value = (() => 1)();
export default class Exported {
  static method() { stop(); }
}
export function exported() { Exported.method(value); }
exported();
