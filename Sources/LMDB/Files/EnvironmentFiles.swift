package import Platform

package struct EnvironmentFiles: Hashable, Sendable {
  package let data: FileIdentity
  /// `nil` when LMDB runs without a lock file, on a read-only file system.
  package let lockFile: FileIdentity?

  package init(data: FileIdentity, lockFile: FileIdentity?) {
    self.data = data
    self.lockFile = lockFile
  }
}
