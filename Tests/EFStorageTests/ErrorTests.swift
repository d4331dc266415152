import CBORCoding
import Foundation
import GarageStorage
import LMDB
import LMDBCaching
import LMDBCachingImport
import LMDBCachingRemote
import Storez
import Testing

@testable import EFStorageCore
@testable import EFStorageUserDefaults

#if os(Linux)
  import EFStorageKeychainAccess
#endif

@Suite struct ErrorTests {
  private static var errors: [any Error] {
    let cause = CacheError(.noSpace, "The disk is full. Free some space.")
    var errors: [any Error] = [
      cause, CBORCodingError(.malformed, "No CBOR."), GarageError(.closed, "The garage is closed."),
      ImportError(.damagedSource, "It is damaged.", underlying: cause), LMDBError(code: .mapFull, operation: "mdb_put"),
      RemoteTierError(.busy, "All connections are in use."),
      StorezFailure(.storage, key: "k", "No.", underlying: cause),
      EFStorageCompositionError(first: cause, second: nil),
      EFStorageFailure(.storage, key: "k", storage: LMDBCache.self, content: Int.self, underlying: cause),
      UserDefaultsStorableError.innerNil(Int??.self),
    ]
    #if os(Linux)
      errors.append(KeychainError(.locked, "The keyring is locked."))
    #endif
    return errors
  }

  @Test func everyErrorsLocalizedDescriptionIsItsMessage() {
    for error in Self.errors {
      let message = Mirror(reflecting: error).children.first { $0.label == "message" }?.value as? String
      if let message { #expect(error.localizedDescription == message) }
      #expect("\(error)".contains(error.localizedDescription), "\(error.localizedDescription)")
    }
  }

  /// Each error type in the sources is in the list, and describes itself.
  @Test func everyErrorTypeIsLocalized() throws {
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Sources")
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    let declaration = /(?:^|\n)(public|package) (?:struct|enum|final class) (\w+): (?:Localized)?Error\b/
    let listed = Set(Self.errors.map { "\(type(of: $0))" })
    var found: Set<String> = []
    for case let file as URL in files where file.pathExtension == "swift" {
      let text = try String(contentsOf: file, encoding: .utf8)
      for match in text.matches(of: declaration) {
        #expect(match.0.hasSuffix("LocalizedError"), "\(match.2)")
        if match.1 == "public" { found.insert(String(match.2)) }
      }
    }
    #if os(Linux)
      #expect(found == listed)
    #endif
  }
}
