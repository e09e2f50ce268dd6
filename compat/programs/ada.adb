--  ada: tasks: entries, protected objects, a rendezvous with a time-out, aborts, an overflow of a task.
with Ada.Text_IO; use Ada.Text_IO;
with Ada.Calendar; use Ada.Calendar;
with Ada.Real_Time;
procedure Ada_Tasks is
   use type Ada.Real_Time.Time;
   protected type Buffer is
      entry Put (X : in Integer);
      entry Get (X : out Integer);
   private
      Data : Integer := 0;
      Full : Boolean := False;
   end Buffer;
   protected body Buffer is
      entry Put (X : in Integer) when not Full is
      begin
         Data := X; Full := True;
      end Put;
      entry Get (X : out Integer) when Full is
      begin
         X := Data; Full := False;
      end Get;
   end Buffer;

   B : Buffer;
   Total : Long_Integer := 0;

   task type Producer (N : Integer);
   task body Producer is
   begin
      for I in 1 .. 500 loop
         B.Put (I * N);
      end loop;
   end Producer;

   task Server is
      entry Add (X : Integer; Y : out Long_Integer);
      entry Stop;
   end Server;
   task body Server is
      Sum : Long_Integer := 0;
   begin
      loop
         select
            accept Add (X : Integer; Y : out Long_Integer) do
               Sum := Sum + Long_Integer (X);
               Y := Sum;
            end Add;
         or
            accept Stop;
            exit;
         or
            delay 20.0;
            Put_Line ("server timed out");
            exit;
         end select;
      end loop;
   end Server;
   Y : Long_Integer;
begin
   declare
      P1 : Producer (1);
      P2 : Producer (2);
      P3 : Producer (3);
      X : Integer;
   begin
      for I in 1 .. 1500 loop
         B.Get (X);
         Server.Add (X, Y);
      end loop;
      Total := Y;
   end;
   Server.Stop;
   Put_Line ("sum" & Long_Integer'Image (Total));

   --  Timed entry call, asynchronous transfer of control, abort.
   declare
      X : Integer;
   begin
      select
         B.Get (X);
         Put_Line ("got");
      or
         delay 0.05;
         Put_Line ("timed entry call expired");
      end select;
   end;
   declare
      I : Long_Long_Integer := 0;
   begin
      select
         delay 0.1;
         Put_Line ("computation aborted");
      then abort
         loop
            I := (I * 3 + 1) mod 1000003; delay 0.0;
         end loop;
      end select;
   end;
   declare
      task Spinner;
      task body Spinner is
         I : Long_Long_Integer := 0;
      begin
         loop
            I := (I + 1) mod 7; delay 0.0;
         end loop;
      end Spinner;
      task Sleeper;
      task body Sleeper is
      begin
         delay 1000.0;
      end Sleeper;
      task Waiter;
      task body Waiter is
         X : Integer;
      begin
         B.Get (X);
      end Waiter;
   begin
      delay 0.05;
      abort Spinner;
      abort Sleeper;
      abort Waiter;
   end;
   Put_Line ("three tasks aborted");
   declare
      Next : Ada.Real_Time.Time := Ada.Real_Time.Clock;
      N : Integer := 0;
   begin
      for I in 1 .. 20 loop
         Next := Next + Ada.Real_Time.Milliseconds (5);
         delay until Next;
         if Ada.Real_Time.Clock >= Next then N := N + 1; end if;
      end loop;
      Put_Line ("periods" & Integer'Image (N));
   end;
   declare
      task type Many (K : Integer) is end Many;
      Cnt : Integer := 0;
      protected Lock is procedure Inc; function V return Integer; private C : Integer := 0; end Lock;
      protected body Lock is
         procedure Inc is begin C := C + 1; end Inc;
         function V return Integer is begin return C; end V;
      end Lock;
      task body Many is
      begin
         delay Duration (K) * 0.0001;
         Lock.Inc;
         if K mod 10 = 0 then raise Constraint_Error; end if;
      exception
         when Constraint_Error => Lock.Inc;
      end Many;
      type Ptr is access Many;
      T : array (1 .. 200) of Ptr;
   begin
      for I in T'Range loop T (I) := new Many (I); end loop;
      for I in T'Range loop
         while not T (I)'Terminated loop delay 0.001; end loop;
      end loop;
      Put_Line ("many" & Integer'Image (Lock.V));
   end;
   declare
      task Overflow is entry Done (Ok : out Boolean); end Overflow;
      task body Overflow is
         R : Boolean := False;
         function F (X : Integer) return Integer is
            A : array (1 .. 1000) of Integer := (others => X);
         begin
            return F (A (X mod 10 + 1) + 1) + A (5);
         end F;
         Q : Integer;
      begin
         begin
            Q := F (1);
            Put_Line (Integer'Image (Q));
         exception
            when Storage_Error => R := True;
         end;
         accept Done (Ok : out Boolean) do Ok := R; end Done;
      end Overflow;
      R : Boolean;
   begin
      Overflow.Done (R);
      Put_Line ("storage error " & Boolean'Image (R));
   end;
end Ada_Tasks;
