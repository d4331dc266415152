package import Foundation

import TestSupport

/// The files of a release, as they are in `Fixtures`.
package enum FixtureArchive {
  /// Unpacks them into a directory that exists.
  ///
  /// - Throws: `EIO` if there is no such archive, or `tar` cannot read it.
  package static func unpack(_ name: String, of version: String, into directory: URL) throws {
    let archive = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Fixtures/\(version)/\(name).tar.gz")
    // Files of another user's would be refused, and root would get those of whoever made the archive.
    let outcome = try BoundedProcess.run(
      "/usr/bin/env", ["tar", "-xzf", archive.path, "-C", directory.path, "--no-same-owner"])
    guard outcome.isOrderly else { throw POSIXError(.EIO, userInfo: [NSFilePathErrorKey: archive.path]) }
  }
}
