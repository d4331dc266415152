import Foundation
import Observation
import TestSupport
import Testing

@testable import EFStorageUserDefaults

@Suite(.timeLimit(.minutes(30))) struct DefaultsObservationTests {
  private let temporary = TemporaryDefaults()

  private func reference<Content: UserDefaultsStorable>(
    _ type: Content.Type = Content.self, _ key: String = "key"
  ) -> EFStorageUserDefaultsRef<Content> { .forKey(key, in: temporary.defaults) }

  /// Returns after all observers have been notified twice.
  private func twoPollsLater() async throws {
    var polls = reference(Int.self, "polled").values.makeAsyncIterator()
    _ = try await polls.next()
    for number in 0..<2 {
      // Bypasses the references, so only polling finds it.
      temporary.defaults.set(number, forKey: "polled")
      #expect(try await polls.next() == number)
    }
  }

  @Test func thePresentContentAndThenEachThatFollows() async throws {
    let reference = reference(Int.self)
    var values = reference.values.makeAsyncIterator()
    #expect(try await values.next() == .some(nil))
    reference.content = 1
    #expect(try await values.next() == 1)
    // Other keys and unchanged values are ignored.
    for number in 0..<100 { self.reference(Int.self, "key\(number)").content = number }
    reference.content = 1
    reference.content = 2
    #expect(try await values.next() == 2)
    reference.content = nil
    #expect(try await values.next() == .some(nil))
    #expect(try reference.storeContentIfAbsent { 3 })
    for number in 4...1_000 { reference.content = number }
    #expect(try await values.next() == 1_000)
    // It ends with its task.
    let task = Task { for try await _ in reference.values {} }
    task.cancel()
    try await task.value
  }

  /// Includes writes that bypass the references, use another object of the suite, or come from another process.
  @Test func whatIsWrittenPastTheReferencesIsSeen() async throws {
    let reference = reference(Int.self)
    var values = reference.values.makeAsyncIterator()
    #expect(try await values.next() == .some(nil))
    for number in 1...3 {
      temporary.defaults.set(number, forKey: "key")
      #expect(try await values.next() == number)
    }
    let other = try #require(UserDefaults(suiteName: temporary.suite))
    other.set(4, forKey: "key")
    #expect(try await values.next() == 4)
    temporary.defaults.removeObject(forKey: "key")
    #expect(try await values.next() == .some(nil))
    temporary.defaults.set("text", forKey: "key")
    await #expect(throws: EFStorageFailure.self) { try await values.next() }
    var changing = self.reference(Int.self, "changing").values.makeAsyncIterator()
    #expect(try await changing.next() == .some(nil))
    let writer = try ChildProcess("EFStorageTestProcess", ["serve-defaults", temporary.suite])
    #expect(writer.run("set 5") == "set 5" && writer.end() == .exit(0))
    // A change through a reference rereads the file.
    reference.content = 1
    #expect(try await changing.next() == 5)
  }

  @Test func aContentThatIsNoNumberIsSeenOnce() async throws {
    let reference = reference(Double.self)
    reference.content = .nan
    let seen = Guarded<[Double?]>([])
    let task = Task {
      for try await content in reference.values {
        seen { $0.append(content) }
        if content == 1 { return }
      }
    }
    #expect(try await becomesTrue(within: .seconds(600)) { !seen.current.isEmpty })
    try await twoPollsLater()
    reference.content = .nan
    reference.content = 1
    try await task.value
    #expect(seen.current.count == 2 && seen.current.first??.isNaN == true && seen.current.last == 1)
  }

  // MARK: A property

  private func observed(_ key: String = "key") -> EFStorageUserDefaults<Int> {
    EFStorageUserDefaults(wrappedValue: -1, forKey: key, in: temporary.defaults, isObserved: true)
  }

  /// Reads in a tracked scope; the flag is set when something read has changed.
  private func changed(after read: () -> Void) -> Guarded<Bool> {
    let flag = Guarded(false)
    withObservationTracking(read) { flag { $0 = true } }
    return flag
  }

  @Test(arguments: ["reference", "defaults", "removal"]) func aTrackedReadIsNotified(_ what: String) async throws {
    let reference = reference(Int.self)
    reference.content = 1
    let observed = observed()
    let change = changed { #expect(observed.wrappedValue == 1) }
    // Other keys and unchanged values do not notify.
    for number in 0..<100 { self.reference(Int.self, "key\(number)").content = number }
    reference.content = 1
    try await twoPollsLater()
    #expect(!change.current)
    switch what {
    case "reference": reference.content = 2
    case "defaults": temporary.defaults.set(2, forKey: "key")
    default: observed.removeContentFromUnderlyingStorage()
    }
    #expect(try await becomesTrue(within: .seconds(600)) { change.current })
    #expect(observed.wrappedValue == (what == "removal" ? -1 : 2))
    let next = changed { _ = observed.wrappedValue }
    reference.content = 3
    #expect(try await becomesTrue(within: .seconds(600)) { next.current })
    #expect(observed.wrappedValue == 3)
  }

  /// Observation starts when the closure ends, so a change during it notifies afterwards.
  @Test func whatChangesDuringATrackedRead() async throws {
    let reference = reference(Int.self)
    reference.content = 0
    let observed = observed()
    let (change, isSeen) = (Guarded(false), Guarded(false))
    inBackground(DispatchGroup()) {
      withObservationTracking {
        _ = observed.wrappedValue
        // Another thread's tracking sees the change first.
        let other = onThread(stack: 1 << 20) {
          let flag = Guarded(false)
          withObservationTracking {
            _ = observed.wrappedValue
          } onChange: {
            flag { $0 = true }
          }
          return flag
        }
        reference.content = 1
        if eventually(within: .seconds(300), { other.current }) { isSeen { $0 = true } }
      } onChange: {
        change { $0 = true }
      }
    }
    #expect(try await becomesTrue(within: .seconds(600)) { isSeen.current && change.current })
  }

  @Test func aReleasedPropertyIsNotWatched() async throws {
    let key = UUID().uuidString
    do {
      let observed = observed(key)
      #expect(DefaultsFeed.shared.isWatched(key) && observed.wrappedValue == -1)
    }
    #expect(try await becomesTrue(within: .seconds(600)) { !DefaultsFeed.shared.isWatched(key) })
  }
}
