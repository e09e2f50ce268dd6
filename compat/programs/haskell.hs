import Control.Concurrent
import Control.Concurrent.STM
import Control.Exception
import Control.Monad
import System.Timeout
import System.Process
import qualified Data.Map as M

main :: IO ()
main = do
  done <- newEmptyMVar
  forM_ [1 .. 2000 :: Int] $ \i -> forkIO $ do
    when (i `mod` 10 == 0) $ threadDelay 1000
    putMVar done $! i
  s <- sum <$> replicateM 2000 (takeMVar done)
  print s
  v <- newTVarIO (0 :: Int)
  forM_ [1 .. 20 :: Int] $ \_ -> forkOS $ replicateM_ 100 (atomically (modifyTVar' v (+ 1)))
  atomically (readTVar v >>= \n -> when (n < 2000) retry)
  readTVarIO v >>= print
  timeout 20000 (threadDelay 100000000) >>= print
  t <- forkIO (threadDelay 100000000 `catch` \e -> putMVar done (if e == ThreadKilled then 7 else 8))
  threadDelay 1000
  killThread t
  takeMVar done >>= print
  rs <- forM [1 .. 8] $ \k -> do
    r <- newEmptyMVar
    _ <- forkIO (putMVar r $! M.foldl' (+) 0 (M.fromList [(i * k `mod` 9973, i) | i <- [1 .. 20000 :: Int]]))
    return r
  mapM takeMVar rs >>= print
  readProcess "cat" [] "through a child" >>= putStrLn
