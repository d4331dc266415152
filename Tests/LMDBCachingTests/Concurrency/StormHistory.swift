import Testing

@testable import CacheModel

/// A thread's random history of the model, on keys and with a tag that no other thread uses. The oracle knows each of
/// its answers, whatever the other threads do.
// Sendable: one thread at a time uses it.
final class StormHistory: @unchecked Sendable {
  /// As many as there are tags in the model.
  static let count = ModelKeys.tags.count

  private let part: Int
  private var steps: [(operation: ModelOperation, actor: ModelActor)]
  private var state: ModelState

  init(seed: UInt64, part: Int, count: Int, isTransforming: Bool) {
    self.part = part
    // These seeds draw neither failures nor limits.
    var generator = ModelGenerator(ModelConfiguration(seed: 4 * (8 * seed + UInt64(part))))
    steps = generator.steps(count).compactMap { step -> (operation: ModelOperation, actor: ModelActor)? in
      guard case .perform(let operation, let actor) = step, let own = Self.own(operation, part) else { return nil }
      return (own, actor == .child ? .cache : actor)
    }
    state = ModelState(isTransforming: isTransforming)
  }

  private static func name(_ key: String, _ part: Int) -> String { "\(part)|\(key)" }

  /// Whether a history uses the key.
  static func owns(_ key: String) -> Bool { (0..<count).contains { key.hasPrefix(name("", $0)) } }

  /// The operation on this part's keys and tag; nil if its answer depends on other entries.
  private static func own(_ operation: ModelOperation, _ part: Int) -> ModelOperation? {
    func name(_ key: String) -> String { Self.name(key, part) }
    func tags(_ names: [String]) -> [String] { names.isEmpty ? [] : [ModelKeys.tags[part]] }
    switch operation {
    case .set(let key, let value, let expiry, let cost, let names):
      return .set(name(key), value, expiry, cost: cost, tags: tags(names))
    case .setSeveral(let keys, let first): return .setSeveral(keys.map(name), from: first)
    case .setIfAbsent(let key, let value, let expiry, let names):
      return .setIfAbsent(name(key), value, expiry, tags: tags(names))
    case .setIfVersion(let key, let value, let expiry, let names, let interference):
      return .setIfVersion(name(key), value, expiry, tags: tags(names), after: interference)
    case .removeIfVersion(let key, let interference): return .removeIfVersion(name(key), after: interference)
    case .touch(let key, let expiry): return .touch(name(key), expiry)
    case .update(let key, let update, let expiry, let cost, _): return .update(name(key), update, expiry, cost: cost)
    case .increment(let key, let amount, let expiry): return .increment(name(key), by: amount, expiry)
    case .exchange(let key, let number, let expiry): return .exchange(name(key), number, expiry)
    case .take(let key): return .take(name(key))
    case .remove(let key): return .remove(name(key))
    case .removeAll(.all): return .removeAll(.prefix(name("")))
    case .removeAll(.prefix(let prefix)): return .removeAll(.prefix(name(prefix)))
    case .removeAll(.tags): return .removeAll(.tags([ModelKeys.tags[part]]))
    case .removeAll(.keys(let keys)): return .removeAll(.keys(keys.map(name)))
    case .batch(let changes, let fails, let waits):
      return .batch(changes.compactMap { own($0, part) }, fails: fails, waits: waits)
    case .load(let key, let load):
      var load = load
      load.tags = tags(load.tags)
      load.meanwhile = load.meanwhile.flatMap { own($0, part) }
      return .load(name(key), load)
    case .get(let key, let kind, let expiry): return .get(name(key), kind, expiry)
    case .values(let keys): return .values(keys.map(name))
    case .bytes(let key): return .bytes(name(key))
    case .presence(let key): return .presence(name(key))
    case .flush, .commit, .dropMemory, .limitMemory, .sweep: return operation
    // A commit of another thread may change the last access between the two listings of `list`.
    case .removeAll(.createdBefore), .list, .count, .snapshot, .look, .backUp, .trim: return nil
    }
  }

  // MARK: Performing

  func perform(_ count: Int, by performers: [ModelActor: ModelPerformer], at moment: ModelState.Time) {
    for (operation, actor) in steps.prefix(count) { check(operation, actor, performers, moment) }
    steps.removeFirst(min(count, steps.count))
  }

  /// Reads every key through every cache.
  func readAll(by performers: [ModelActor: ModelPerformer], at moment: ModelState.Time) {
    check(.list(Self.name("", part)), .cache, performers, moment)
    for key in ModelKeys.all.map({ Self.name($0, part) }) {
      let kind = state.entries[ModelKey(key)]?.value?.kind ?? .number
      for actor in performers.keys {
        check(.presence(key), actor, performers, moment)
        check(.get(key, kind), actor, performers, moment)
      }
    }
  }

  private func check(
    _ operation: ModelOperation, _ actor: ModelActor, _ performers: [ModelActor: ModelPerformer],
    _ moment: ModelState.Time
  ) {
    let answer = performers[actor]!.answer(to: operation)
    let expected = state.perform(operation, by: actor, at: moment)
    // The oracle does not know the size of every archive.
    if answer == expected || expected.hasPrefix("?") && answer.hasSuffix(" bytes") { return }
    Issue.record("\(operation) by \(actor):\n    \(answer)\n  and not\n    \(expected)")
  }

  /// A new opening has forgotten which loads failed.
  func noteOpening() { state.pauses = [:] }

  /// The number and total cost of the entries that have not expired.
  func census(at moment: ModelState.Time) -> (count: Int, cost: Int) {
    _ = state.perform(.count, by: .cache, at: moment)
    return (state.entries.count, state.cost)
  }
}
