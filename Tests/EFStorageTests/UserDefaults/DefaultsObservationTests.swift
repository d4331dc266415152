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
  private func twoLooksLater() async {
    var looks = DefaultsFeed.shared.watch("look").makeAsyncIterator()
    for number in 0..<2 {
      // Bypasses the references, so only polling finds it.
      temporary.defaults.set(number, forKey: "look")
      _ = await looks.next()
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
    #expect(try await values.next() == 3)
    for number in 4...1_000 { reference.content = number }
    #expect(try await values.next() == 1_000)
    // A new iterator starts with the current value.
    var others = reference.values.makeAsyncIterator()
    #expect(try await others.next() == 1_000)
    // It ends with its task.
    let task = Task { for try await _ in reference.values {} }
    task.cancel()
    try await task.value
  }

  /// Includes writes that bypass the references or use another object of the suite.
  @Test func whatIsWrittenPastTheReferencesIsSeen() async throws {
    let reference = reference(String.self)
    var values = reference.values.makeAsyncIterator()
    #expect(try await values.next() == .some(nil))
    for text in ["a", "b", "c"] {
      temporary.defaults.set(text, forKey: "key")
      #expect(try await values.next() == text)
    }
    let other = try #require(UserDefaults(suiteName: temporary.suite))
    other.set("d", forKey: "key")
    #expect(try await values.next() == "d")
    temporary.defaults.removeObject(forKey: "key")
    #expect(try await values.next() == .some(nil))
  }

  /// A change through a reference rereads the file.
  @Test func whatAnotherProcessWritesIsSeen() async throws {
    var values = reference(Int.self, "int").values.makeAsyncIterator()
    #expect(try await values.next() == .some(nil))
    let writer = try ChildProcess("EFStorageTestProcess", ["write-defaults", temporary.suite])
    try #require(writer.end() == .exit(0))
    reference(Int.self, "another").content = 1
    #expect(try await values.next() == Int.max)
  }

  @Test func aContentThatIsNoNumberIsToldOnce() async throws {
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
    await twoLooksLater()
    reference.content = .nan
    reference.content = 1
    try await task.value
    #expect(seen.current.count == 2 && seen.current.first??.isNaN == true && seen.current.last == 1)
  }

  @Test func whatCannotBeReadIsToldOfAndWaitedOut() async throws {
    let failures = Failures(of: "key")
    temporary.defaults.set("text", forKey: "key")
    let reference = reference(Int.self)
    var values = reference.values.makeAsyncIterator()
    await #expect(throws: EFStorageFailure.self) { try await values.next() }
    #expect(failures.kinds.allSatisfy { $0 == .loading })
    reference.content = 1
    #expect(try await values.next() == 1)
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

  @Test(arguments: ["reference", "defaults", "removal"]) func whoReadsItIsTold(_ what: String) async throws {
    let reference = reference(Int.self)
    reference.content = 1
    let observed = observed()
    let change = changed { #expect(observed.wrappedValue == 1) }
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

  /// Observation starts when the closure ends, after others have seen the change.
  @Test(arguments: [1, 2, 70]) func whatChangesWhileItIsReadIsToldAfterwards(_ count: Int) async throws {
    let reference = reference(Int.self)
    reference.content = 0
    let observed = observed()
    let (change, isRead, areOthersTold) = (Guarded(false), Guarded(false), Guarded(false))
    let latest = Guarded<Guarded<Bool>?>(nil)
    /// Runs on another thread, outside this one's tracking.
    @Sendable func changedForAnother() -> Guarded<Bool> {
      onThread(stack: 1 << 20) {
        let flag = Guarded(false)
        withObservationTracking {
          _ = observed.wrappedValue
        } onChange: {
          flag { $0 = true }
        }
        return flag
      }
    }
    inBackground(DispatchGroup()) {
      withObservationTracking {
        _ = observed.wrappedValue
        for number in 1...count {
          let other = changedForAnother()
          reference.content = number
          if !eventually(within: .seconds(300), { other.current }) { return }
        }
        let last = changedForAnother()
        latest { $0 = last }
        areOthersTold { $0 = true }
      } onChange: {
        change { $0 = true }
      }
      isRead { $0 = true }
    }
    #expect(try await becomesTrue(within: .seconds(600)) { isRead.current })
    #expect(areOthersTold.current)
    #expect(try await becomesTrue(within: .seconds(600)) { change.current })
    // Trackers that already know are not notified.
    #expect(latest.current?.current == false)
  }

  @Test func othersAreNoneOfIt() async throws {
    let reference = reference(Int.self)
    reference.content = 1
    let observed = observed()
    let change = changed { _ = observed.wrappedValue }
    for number in 0..<100 { self.reference(Int.self, "key\(number)").content = number }
    reference.content = 1
    await twoLooksLater()
    #expect(!change.current)
  }

  // MARK: Ends

  @Test func itGoesWhenNobodyHasIt() async throws {
    let key = UUID().uuidString
    let reference = reference(Int.self, key)
    do {
      let observed = observed(key)
      reference.content = 1
      #expect(DefaultsFeed.shared.isWatched(key))
      #expect(observed.wrappedValue == 1)
    }
    #expect(try await becomesTrue(within: .seconds(600)) { !DefaultsFeed.shared.isWatched(key) })
  }

  /// Uses a separate feed, because other tests observe the shared one.
  @Test func nobodyLooksWhereNobodyWatches() {
    let feed = DefaultsFeed()
    #expect(!feed.isLooking)
    for _ in 0..<3 {
      var first: AsyncStream<Void>? = feed.watch("first")
      var second: AsyncStream<Void>? = feed.watch("second")
      #expect(feed.isLooking && feed.isWatched("first") && feed.isWatched("second"))
      withExtendedLifetime(first) {}
      first = nil
      #expect(feed.isLooking && !feed.isWatched("first") && feed.isWatched("second"))
      withExtendedLifetime(second) {}
      second = nil
      #expect(!feed.isLooking && !feed.isWatched("second"))
    }
  }
}
