import Synchronization

extension MemoryStore {
  /// Checks the invariants between operations, with every shard locked.
  package func _checkInvariants() {
    resharding.withLock { _ in
      for number in 0..<Self.shardCount { shard(number).pointee.lock() }
      defer { for number in 0..<Self.shardCount { shard(number).pointee.unlockUnchanged() } }
      var (count, cost) = (0, Int64(0))
      for number in 0..<Self.shardCount {
        let shard = shard(number)
        shard.pointee.core._checkInvariants(seed: seed, keepsStamps: versions != nil)
        shard.pointee.view._checkInvariants(of: shard.pointee.core)
        count += shard.pointee.core.count
        cost += shard.pointee.core.cost
        precondition(
          number <= mask.load(ordering: .relaxed) || shard.pointee.core.count == 0,
          "a shard that is not in use holds entries")
      }
      precondition(count == totals.pointee.count.load(ordering: .relaxed), "the total count is wrong")
      precondition(UInt64(cost) == totals.pointee.cost.load(ordering: .relaxed), "the total cost is wrong")
    }
  }
}
