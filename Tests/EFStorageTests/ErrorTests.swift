import CBORCoding
import Foundation
import GarageStorage
import LMDB
import LMDBCaching
import LMDBCachingImport
import LMDBCachingRemote
import Storez
import TestSupport
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

  /// The list has each public error type of the sources.
  @Test func everyErrorDescribesItself() throws {
    for error in Self.errors {
      let message = Mirror(reflecting: error).children.first { $0.label == "message" }?.value as? String
      if let message { #expect(error.localizedDescription == message) }
      #expect("\(error)".contains(error.localizedDescription), "\(error.localizedDescription)")
    }
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Sources")
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    let declaration = /(?:^|\n)(public|package) (?:struct|enum|final class) (\w+): (?:Localized)?Error\b/
    var found: Set<String> = []
    for case let file as URL in files where file.pathExtension == "swift" {
      for match in try String(contentsOf: file, encoding: .utf8).matches(of: declaration) {
        #expect(match.0.hasSuffix("LocalizedError"), "\(match.2)")
        if match.1 == "public" { found.insert(String(match.2)) }
      }
    }
    #if os(Linux)
      #expect(found == Set(Self.errors.map { "\(type(of: $0))" }))
    #endif
  }

  private struct Unstorable: UserDefaultsStorable {
    struct Reason: Error {}
    func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { .failure(Reason()) }
    static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? { nil }
  }

  @Test func aFailedConversion() throws {
    let failures = Failures(of: "unstorable")
    let temporary = TemporaryDefaults()
    let reference = EFStorageUserDefaultsRef<Unstorable>.forKey("unstorable", in: temporary.defaults)
    let failure = try #require(throws: EFStorageFailure.self) { try reference.storeContent(Unstorable()) }
    #expect(failure.code == .conversion && failure.code == failure.kind)
    #expect(failure.message.contains("\"unstorable\"") && failure.message.contains("Set a value that can be."))
    #expect(failure.underlying is Unstorable.Reason)
    #expect(failure.description == "conversion: \(failure.message) (Reason())")
    // A missing entry cannot be in user defaults.
    let entries = EFStorageUserDefaultsRef<[String: Int?]>.forKey("unstorable", in: temporary.defaults)
    let missing = try #require(throws: EFStorageFailure.self) { try entries.storeContent(["a": nil]) }
    let error = try #require(missing.underlying as? UserDefaultsStorableError)
    #expect(error.code == .unstorable && error.underlying == nil)
    #expect(error.message.contains("\"a\"") && error.message.contains("Leave it out."))
    #expect("\(error)" == "unstorable: \(error.message)")
    temporary.defaults.set("text", forKey: "unstorable")
    let unread = try #require(throws: EFStorageFailure.self) { try entries.loadContent() }
    #expect((unread.underlying as? UserDefaultsStorableError)?.code == .unreadable)
    #expect(failures.kinds == [.conversion, .conversion, .loading])
  }

  /// Notifications in progress skip it too.
  @Test func aCancelledObservationIsNotCalled() {
    let failure = EFStorageFailure(
      .storage, key: "cancelled", storage: Self.self, content: Any.self, underlying: Unstorable.Reason())
    let observations = Guarded<[EFStorageFailure.Observation]>([])
    let calls = Guarded(0)
    for _ in 0..<2 {
      let observation = EFStorageFailure.observe { failure in
        if failure.key != "cancelled" { return }
        calls { $0 += 1 }
        for observation in observations.current { observation.cancel() }
      }
      observations { $0.append(observation) }
    }
    failure.report()
    #expect(calls.current == 1)
  }
}
