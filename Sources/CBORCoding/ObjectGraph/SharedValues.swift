#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  struct SharedValues {
    enum State {
      case unread
      /// Its `init(coder:)` is running, so there is no object yet.
      case beingRead
      /// An incomplete collection.
      case beingFilled(AnyObject)
      case read(AnyObject)
    }

    struct Value {
      /// Its tag's offset.
      let offset: Int
      var state = State.unread
      /// Levels of objects inside it.
      var levels = 0
      /// Values inside it, counted once per reference.
      var weight = 0
      /// Whether it contains an object that Foundation cannot compare.
      var isFragile = false
      /// The classes allowed at the value's first read.
      var allowed = AllowedClasses.none
      /// Completions that need the object.
      var waiting: [(AnyObject) -> Void] = []
    }

    var values: ContiguousArray<Value>

    init(offsets: ContiguousArray<Int>) {
      values = []
      values.reserveCapacity(offsets.count)
      for offset in offsets { values.append(Value(offset: offset)) }
    }

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
