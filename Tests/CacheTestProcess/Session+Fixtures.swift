import FormatFixtures
import Foundation
import LMDBCaching

#if canImport(Glibc)
  import Glibc
#endif

extension Session {
  /// fixture KIND DIRECTORY: writes fixture files, which stay open as if the process were killed.
  func writeFixture(_ kind: String, to path: String) throws {
    let directory = URL(fileURLWithPath: path, isDirectory: true)
    switch kind {
    case "cache": cache = try CacheFixture.write(to: directory)
    case "garage":
      let garage = try GarageFixture.write(to: directory)
      withExtendedLifetime(garage) { endAsKilled() }
    case "transformed":
      #if Compression && Encryption
        try TransformedFixture.write(to: directory)
      #else
        throw CacheError(.invalidArgument, "Build it with the traits Compression and Encryption.")
      #endif
    default: throw CacheError(.invalidArgument, "\(kind) is no fixture.")
    }
    endAsKilled()
  }

  private func endAsKilled() { kill(getpid(), SIGKILL) }
}
