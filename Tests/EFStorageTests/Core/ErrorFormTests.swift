import EFStorageUserDefaults
import Foundation
import TestSupport
import Testing

@Suite struct ErrorFormTests {
  private struct Unstorable: UserDefaultsStorable {
    struct Reason: Error {}
    func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { .failure(Reason()) }
    static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? { nil }
  }

  @Test func aFailure() throws {
    let failures = Failures(of: "unstorable")
    let temporary = TemporaryDefaults()
    let reference = EFStorageUserDefaultsRef<Unstorable>.forKey("unstorable", in: temporary.defaults)
    let failure = try #require(throws: EFStorageFailure.self) { try reference.storeContent(Unstorable()) }
    #expect(failure.code == .conversion && failure.code == failure.kind)
    #expect(failure.message.contains("\"unstorable\"") && failure.message.contains("Set a value that can be."))
    #expect(failure.underlying is Unstorable.Reason)
    #expect(failure.description == "conversion: \(failure.message) (Reason())")
    #expect(failures.all.count == 1)
    struct Unwritable: WholeStorageError {}
    let whole = EFStorageFailure(.storage, key: "", storage: Int.self, content: Any.self, underlying: Unwritable())
    #expect(whole.message == "Int cannot be written. Changes are kept in memory, and are written once that succeeds.")
  }

  @Test func aValueThatUserDefaultsCannotHold() throws {
    let failures = Failures(of: "dictionary")
    let temporary = TemporaryDefaults()
    let reference = EFStorageUserDefaultsRef<[String: Int?]>.forKey("dictionary", in: temporary.defaults)
    let failure = try #require(throws: EFStorageFailure.self) { try reference.storeContent(["a": nil]) }
    let error = try #require(failure.underlying as? UserDefaultsStorableError)
    #expect(error.code == .unstorable && error.underlying == nil)
    #expect(error.message.contains("\"a\"") && error.message.contains("Leave it out."))
    #expect("\(error)" == "unstorable: \(error.message)")
    temporary.defaults.set("text", forKey: "dictionary")
    let unread = try #require(throws: EFStorageFailure.self) { try reference.loadContent() }
    #expect((unread.underlying as? UserDefaultsStorableError)?.code == .unreadable)
    withExtendedLifetime(failures) {}
  }
}
