package import Foundation
import TestSupport

package enum FixtureOrigin: Sendable {
  /// Written now by this version, which checks the expectations too.
  case current
  case release(String)

  package static let all: [FixtureOrigin] = [.current, .release("0.1.0")]
}

package enum FixtureArchive {
  /// Unpacks a release's files from `Fixtures` into an existing directory. Throws `EIO` if there is no such archive, or
  /// `tar` fails.
  package static func unpack(_ name: String, of version: String, into directory: URL) throws {
    let archive = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Fixtures/\(version)/\(name).tar.gz")
    // The cache would refuse another user's files, and root would restore the archive's owner.
    let outcome = try BoundedProcess.run(
      "/usr/bin/env", ["tar", "-xzf", archive.path, "-C", directory.path, "--no-same-owner"])
    guard outcome.isOrderly else { throw POSIXError(.EIO, userInfo: [NSFilePathErrorKey: archive.path]) }
  }
}
