#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  /// The values of an archive that are referred to, by their numbers.
  struct SharedValues {
    enum State {
      case unread
      /// Its `init(coder:)` runs: there is no object yet.
      case beingRead
      /// A collection that is there, and is not complete.
      case beingFilled(AnyObject)
      case read(AnyObject)
    }

    struct Value {
      /// Where its tag is.
      let offset: Int
      var state = State.unread
      /// How many levels of objects are in it.
      var levels = 0
      /// How many values it is made of, each counted as often as it is referred to.
      var weight = 0
      /// Whether there is something in it that Foundation cannot compare.
      var isFragile = false
      /// Where reading of the value began: the classes that were allowed then.
      var allowed = AllowedClasses.none
      /// What waits for it to be read.
      var waiting: [(AnyObject) -> Void] = []
    }

    var values: ContiguousArray<Value>

    init(offsets: ContiguousArray<Int>) {
      values = []
      values.reserveCapacity(offsets.count)
      for offset in offsets { values.append(Value(offset: offset)) }
    }

    /// The number of the value whose tag is at an offset.
    func number(at offset: Int) -> Int? {
      var low = 0
      var high = values.count
      while low < high {
        let middle = (low + high) / 2
        if values[middle].offset < offset { low = middle + 1 } else { high = middle }
      }
      return low < values.count && values[low].offset == offset ? low : nil
    }
  }
#endif
